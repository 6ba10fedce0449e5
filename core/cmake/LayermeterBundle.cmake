# LAYERMETER_BUNDLE: the small shared libraries that program and library are linked with lie beside them, and are looked
# for there first, so that an installed tree runs where they are not installed. Large ones (BLAS, LAPACK, XGBoost) are
# loaded when something is fitted, and stay the system's.
if(NOT LAYERMETER_BUNDLE)
  return()
endif()

file(RELATIVE_PATH LAYERMETER_BIN_TO_LIB /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_target_properties(layermeter_program PROPERTIES INSTALL_RPATH $ORIGIN/${LAYERMETER_BIN_TO_LIB}/layermeter)
set_target_properties(layermeter PROPERTIES INSTALL_RPATH $ORIGIN/layermeter)

# Under their sonames, without links: wheels have none.
set(LAYERMETER_BUNDLE_SCRIPT [==[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "@program@" LIBRARIES "@library@" RESOLVED_DEPENDENCIES_VAR needed
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread)\\.so" "^ld-linux")
  foreach(file IN LISTS needed)
    get_filename_component(soname ${file} NAME)
    file(REAL_PATH ${file} real)
    message(STATUS "Bundling: ${soname}")
    configure_file(${real} $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/@folder@/${soname} COPYONLY)
  endforeach()]==])
set(program $<TARGET_FILE:layermeter_program>)
set(library $<TARGET_FILE:layermeter>)
set(folder ${CMAKE_INSTALL_LIBDIR}/layermeter)
string(CONFIGURE "${LAYERMETER_BUNDLE_SCRIPT}" LAYERMETER_BUNDLE_SCRIPT @ONLY)
install(CODE "${LAYERMETER_BUNDLE_SCRIPT}" COMPONENT program)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/bundled-licences.txt DESTINATION ${folder} COMPONENT program)
