# What others find: the library and, for authors of plugins, headers, by find_package() and by pkg-config.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/layermeter)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The ABI's numbers stand in its header alone.
foreach(part MAJOR MINOR)
  file(STRINGS ${PROJECT_SOURCE_DIR}/core/include/layermeter/plugin.h line
    REGEX "^#define LM_ABI_${part} ")
  string(REGEX MATCH "[0-9]+" abi_${part} "${line}")
endforeach()
set(LAYERMETER_PLUGIN_ABI ${abi_MAJOR}.${abi_MINOR})

set_target_properties(layermeter_plugin_headers PROPERTIES EXPORT_NAME plugin)
install(TARGETS layermeter_plugin_headers EXPORT layermeter-targets)
install(EXPORT layermeter-targets NAMESPACE layermeter:: DESTINATION ${package_dir} COMPONENT dev)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/layermeter-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/layermeter-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS LAYERMETER_PLUGIN_DIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/layermeter-config-version.cmake
  COMPATIBILITY SameMajorVersion)

file(RELATIVE_PATH LAYERMETER_PC_TO_PREFIX /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" LAYERMETER_PC_TO_PREFIX ${LAYERMETER_PC_TO_PREFIX})
list(JOIN LAYERMETER_STATIC_NEEDS " " LAYERMETER_PC_STATIC_NEEDS)
foreach(name layermeter layermeter-plugin)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${pkgconfig_dir} COMPONENT dev)
endforeach()

install(FILES
  ${PROJECT_BINARY_DIR}/package/layermeter-config.cmake
  ${PROJECT_BINARY_DIR}/package/layermeter-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/LayermeterAddPlugin.cmake
  DESTINATION ${package_dir} COMPONENT dev)
