# Packages, made by `cpack` in the build folder: a tarball of all that is installed (-G TGZ), and for Debian (-G DEB)
# layermeter, liblayermeter1 and liblayermeter-dev, and layermeter-calibrate where all its libraries are Debian's.
# Packages of /usr are built with -DCMAKE_INSTALL_PREFIX=/usr, so that the library lies in Debian's folder.
set(LAYERMETER_MAINTAINER "Layermeter maintainers <maintainers@layermeter.invalid>" CACHE STRING
  "Who makes packages: NAME <ADDRESS>")

set(CPACK_PACKAGE_NAME layermeter)
set(CPACK_PACKAGE_VENDOR Layermeter)
set(CPACK_PACKAGE_CONTACT ${LAYERMETER_MAINTAINER})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has a line of its own
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR TGZ)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_COMPONENTS_ALL program library dev)
if(LAYERMETER_CALIBRATE AND NOT LAYERMETER_HAVE_CUDA AND NOT LAYERMETER_HAVE_NCCL)
  list(APPEND CPACK_COMPONENTS_ALL calibrate)
endif()

# ---- Debian -------------------------------------------------------------------------------------------------------

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# debian_package(COMPONENT name "summary and description" [KEY value ...]): keys of CPACK_DEBIAN_<COMPONENT>_PACKAGE_*.
macro(debian_package component name text)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name})
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${text}")
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs key value)
    set(CPACK_DEBIAN_${component}_PACKAGE_${key} "${value}")
  endwhile()
endmacro()

# cpack makes no trigger, and of modules it asks for a soname
file(WRITE ${PROJECT_BINARY_DIR}/package/shlibs
  "liblayermeter ${LAYERMETER_SOVERSION} liblayermeter${LAYERMETER_SOVERSION} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/triggers
  ${PROJECT_BINARY_DIR}/package/shlibs)

set(what "Layermeter counts a network's FLOPs, bytes and layers exactly, and predicts
the time of a training step from prices that benchmarks on a machine gave.
It plans hours, money and memory over batches, nodes and layouts.")
debian_package(PROGRAM layermeter "predicts how long training a neural network takes
${what}
.
This package has the program, layer types, networks and machine files of
common GPUs."
  SHLIBDEPS ON
  RECOMMENDS "liblapacke, libopenblas0-pthread | libblas3, gnuplot-nox"
  SUGGESTS "layermeter-calibrate, libsqlite3-0")
debian_package(LIBRARY liblayermeter${LAYERMETER_SOVERSION} "predicts how long training a neural network takes - library
${what}
.
This package has the shared library. It finds layer types and networks in
the package layermeter."
  SHLIBDEPS ON SECTION libs
  MULTIARCH same
  DEPENDS "layermeter ${same}"
  RECOMMENDS "liblapacke, libopenblas0-pthread | libblas3")
debian_package(DEV liblayermeter-dev "predicts how long training a neural network takes - development
${what}
.
This package has headers, the static library, and files for pkg-config and
CMake, for programs that predict and for plugins with layer types."
  SECTION libdevel
  DEPENDS "liblayermeter${LAYERMETER_SOVERSION} ${same}"
  SUGGESTS "libinih-dev, libjansson-dev") # what the static library needs
set(openmpi "")
if(MPI_mpi_LIBRARY MATCHES openmpi) # starts a program of that package, with one process, too
  set(openmpi ", openmpi-bin")
endif()
debian_package(CALIBRATE layermeter-calibrate "measures a machine for layermeter
${what}
.
This package has the program behind 'layermeter calibrate', which runs the
benchmarks on a CPU with oneDNN, in one process or in several under MPI."
  SHLIBDEPS ON
  DEPENDS "layermeter ${same}${openmpi}")

# What Debian wants beside the files themselves.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/LayermeterDebian.cmake)
set(CPACK_LAYERMETER_NAMES "")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_LAYERMETER_NAMES ${component} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
endforeach()
set(CPACK_LAYERMETER_FOLDER ${CMAKE_CURRENT_LIST_DIR}/debian)
set(CPACK_LAYERMETER_CHANGES ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
include(CPack)
