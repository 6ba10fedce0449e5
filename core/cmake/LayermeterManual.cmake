# Pages of the manual, a page for each command, made by the programs from their tables of options.
#
# Included by the build, it adds the target; run as a script (-P) it writes the pages:
#   cmake -DPROGRAM=... -DFOLDER=... -DCALIBRATE=ON|OFF -P LayermeterManual.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  set(ENV{ASAN_OPTIONS} detect_leaks=0) # of Open MPI, which layermeter-calibrate is linked with
  set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
  set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)

  function(write_page page)
    execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE ${FOLDER}/${page}.1 "${text}")
  endfunction()

  file(REMOVE_RECURSE ${FOLDER})
  execute_process(COMMAND ${PROGRAM} --complete OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," commands "${commands}") # of its text, which a list would part
  string(REGEX MATCHALL "[^\n]+" lines "${commands}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "\t.*" "" name "${line}")
    if(name MATCHES "^(help|version)$" OR (name STREQUAL calibrate AND NOT CALIBRATE))
      continue()
    endif()
    write_page(layermeter-${name} ${name} --help=man)
  endforeach()
  write_page(layermeter --help=man) # the last: its time is that of all
  return()
endif()

set(LAYERMETER_MANUAL ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/man/man1)
set(needs layermeter_program)
if(TARGET layermeter-calibrate)
  list(APPEND needs layermeter-calibrate)
endif()
add_custom_command(OUTPUT ${LAYERMETER_MANUAL}/layermeter.1
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:layermeter_program> -DFOLDER=${LAYERMETER_MANUAL}
    -DCALIBRATE=$<TARGET_EXISTS:layermeter-calibrate> -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${needs} ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
add_custom_target(layermeter_manual ALL DEPENDS ${LAYERMETER_MANUAL}/layermeter.1)
install(DIRECTORY ${LAYERMETER_MANUAL} DESTINATION ${CMAKE_INSTALL_MANDIR}
  PATTERN layermeter-calibrate.1 EXCLUDE)
if(TARGET layermeter-calibrate) # beside its program
  install(FILES ${LAYERMETER_MANUAL}/layermeter-calibrate.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT calibrate)
endif()
