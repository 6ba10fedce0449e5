# layermeter_optional(NAME "what for")
#
# Declares LAYERMETER_WITH_<NAME> = AUTO | ON | OFF. AUTO: used if found; ON: missing is an error.
# layermeter_found(NAME target) then says whether it is there, and puts it into the summary.

function(layermeter_optional name doc)
  set(LAYERMETER_WITH_${name} AUTO CACHE STRING "${doc}: AUTO, ON or OFF")
  set_property(CACHE LAYERMETER_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT LAYERMETER_WITH_${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "LAYERMETER_WITH_${name} is '${LAYERMETER_WITH_${name}}': expected AUTO, ON or OFF")
  endif()
  set(LAYERMETER_DOC_${name} "${doc}" CACHE INTERNAL "")
endfunction()

# Sets LAYERMETER_HAVE_<NAME>, for all folders.
function(layermeter_found name target)
  if(LAYERMETER_WITH_${name} STREQUAL OFF)
    set(have OFF)
  elseif(TARGET ${target})
    set(have ON)
  elseif(LAYERMETER_WITH_${name} STREQUAL ON)
    message(FATAL_ERROR "LAYERMETER_WITH_${name}=ON, but it was not found: ${LAYERMETER_DOC_${name}}")
  else()
    set(have OFF)
  endif()
  set(LAYERMETER_HAVE_${name} ${have} CACHE INTERNAL "")
  # under the option's name: FeatureSummary keeps silent about names of packages found quietly
  add_feature_info(LAYERMETER_WITH_${name} ${have} "${LAYERMETER_DOC_${name}}")
endfunction()

# layermeter_load_name(out path): what a program that loads a library at run time names it by: its soname, or its path
# where the linker must be told of its folder.
function(layermeter_load_name out path)
  get_filename_component(folder ${path} DIRECTORY)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${path} OUTPUT_VARIABLE header ERROR_QUIET)
  set(name ${path})
  if(header MATCHES "SONAME +([^\n]+)")
    if(folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
      set(name ${CMAKE_MATCH_1})
    elseif(EXISTS ${folder}/${CMAKE_MATCH_1}) # what stays without the package for developers
      set(name ${folder}/${CMAKE_MATCH_1})
    endif()
  endif()
  set(${out} ${name} PARENT_SCOPE)
endfunction()
