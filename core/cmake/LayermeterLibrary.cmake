# liblayermeter, shared and static: predictions and files of networks, for other programs. Both export lm_* alone.

# Of the binary interface, apart from the program's version: it rises when a program built before no longer runs.
set(LAYERMETER_SOVERSION 1)
set(LAYERMETER_SOVERSION ${LAYERMETER_SOVERSION} PARENT_SCOPE) # for the packages

add_library(layermeter SHARED
  $<TARGET_OBJECTS:layermeter_core> $<TARGET_OBJECTS:layermeter_formats> $<TARGET_OBJECTS:layermeter_api>)
add_library(layermeter::layermeter ALIAS layermeter)
target_include_directories(layermeter INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# their objects are there: what comes with them is what these need
target_link_libraries(layermeter PRIVATE layermeter_core layermeter_formats layermeter_api layermeter_flags)
target_link_options(layermeter PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/layermeter.map)
if(NOT LAYERMETER_SANITIZE) # clang's sanitizers leave their run time undefined in libraries
  target_link_options(layermeter PRIVATE -Wl,-z,defs)
endif()
set_target_properties(layermeter PROPERTIES LINKER_LANGUAGE C
  VERSION ${LAYERMETER_SOVERSION} SOVERSION ${LAYERMETER_SOVERSION}
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/layermeter.map
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}) # as installed: it looks for files from there
install(TARGETS layermeter EXPORT layermeter-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)

# What whoever links the static one links as well.
set(LAYERMETER_STATIC_NEEDS ${INIH_LDFLAGS})
if(LAYERMETER_HAVE_JSON OR LAYERMETER_HAVE_XGBOOST)
  list(APPEND LAYERMETER_STATIC_NEEDS ${JANSSON_LDFLAGS})
endif()
list(APPEND LAYERMETER_STATIC_NEEDS -lm ${CMAKE_THREAD_LIBS_INIT})
if(CMAKE_DL_LIBS)
  list(APPEND LAYERMETER_STATIC_NEEDS -l${CMAKE_DL_LIBS})
endif()
set(LAYERMETER_STATIC_NEEDS ${LAYERMETER_STATIC_NEEDS} PARENT_SCOPE) # for the package

if(NOT CMAKE_OBJCOPY OR NOT CMAKE_LINKER)
  message(STATUS "No static liblayermeter: it needs objcopy and a linker with -r, to hide what is not lm_*")
  return()
endif()
# One object, in which only lm_* is global.
set(LAYERMETER_STATIC ${CMAKE_CURRENT_BINARY_DIR}/liblayermeter.a)
set(LAYERMETER_STATIC ${LAYERMETER_STATIC} PARENT_SCOPE) # for the tests
set(parts $<TARGET_FILE:layermeter_core> $<TARGET_FILE:layermeter_formats> $<TARGET_FILE:layermeter_api>)
set(inside "")
if(TARGET layermeter_onnx_wire)
  set(inside $<TARGET_FILE:layermeter_onnx_wire> $<TARGET_FILE:nanopb::protobuf-nanopb-static>)
endif()
add_custom_command(OUTPUT ${LAYERMETER_STATIC}
  COMMAND ${CMAKE_LINKER} -r -o liblayermeter.o --whole-archive ${parts} --no-whole-archive ${inside}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=lm_* liblayermeter.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${LAYERMETER_STATIC}
  COMMAND ${CMAKE_AR} rcs ${LAYERMETER_STATIC} liblayermeter.o
  DEPENDS layermeter_core layermeter_formats layermeter_api
  COMMENT "Linking C static library liblayermeter.a" VERBATIM)
add_custom_target(layermeter_static ALL DEPENDS ${LAYERMETER_STATIC})
install(FILES ${LAYERMETER_STATIC} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
