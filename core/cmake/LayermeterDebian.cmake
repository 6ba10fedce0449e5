# Completes what cpack laid out for Debian's packages: copyright, changelog, compressed pages of the manual, and the tags
# of lintian that are meant so.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()

find_program(GZIP gzip REQUIRED)
# Each file by itself, without a time: packages of one tree are equal.
function(pack folder)
  execute_process(COMMAND ${GZIP} -9nfr ${folder} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, if that is set
set(names ${CPACK_LAYERMETER_NAMES})
while(names)
  list(POP_FRONT names component name)
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr)
  set(doc ${root}/share/doc/${name})
  file(WRITE ${doc}/changelog.Debian
    "layermeter (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Packaged by cpack. What changed stands in changelog.gz.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  configure_file(${CPACK_LAYERMETER_CHANGES} ${doc}/changelog COPYONLY)
  pack(${doc})
  file(COPY ${CPACK_LAYERMETER_FOLDER}/copyright DESTINATION ${doc})
  if(EXISTS ${root}/share/man)
    pack(${root}/share/man)
  endif()
  if(EXISTS ${CPACK_LAYERMETER_FOLDER}/${component}.lintian)
    file(MAKE_DIRECTORY ${root}/share/lintian/overrides)
    configure_file(${CPACK_LAYERMETER_FOLDER}/${component}.lintian ${root}/share/lintian/overrides/${name} COPYONLY)
  endif()
endwhile()
