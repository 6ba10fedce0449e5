# layermeter_add_plugin(name source...)
#
# A layer-type plugin: a shared object with one visible symbol that links to nothing of Layermeter.
# In the tree and in third-party projects (find_package(layermeter COMPONENTS plugin)) alike; it is
# installed into LAYERMETER_PLUGIN_DIR.

function(layermeter_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE layermeter::plugin)
  if(TARGET layermeter_flags)
    target_link_libraries(${name} PRIVATE layermeter_flags)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME layermeter-${name}
    C_STANDARD 11 C_VISIBILITY_PRESET hidden)
  if(NOT LAYERMETER_SANITIZE) # clang's sanitizers leave their run time undefined in modules
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION ${LAYERMETER_PLUGIN_DIR})
endfunction()
