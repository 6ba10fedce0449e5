# Flags of our own code, as a target: nothing is set for whole directories.
# A switch names every value of its enumeration, but in targets with the property OPEN_SWITCHES.

add_library(layermeter_flags INTERFACE)
target_compile_features(layermeter_flags INTERFACE c_std_11)
target_compile_definitions(layermeter_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(layermeter_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:OPEN_SWITCHES>>>:-Wswitch-enum>
  $<$<BOOL:${LAYERMETER_WERROR}>:-Werror>)
if(LAYERMETER_SANITIZE)
  target_compile_options(layermeter_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    # what these tell depends on the optimizer, and a sanitized build has little of it
    $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation -Wno-maybe-uninitialized>)
  # Undefined behaviour traps: a word for each place would be 9 MB that each start reads, and a fifth more time to compile.
  # ASAN_OPTIONS=handle_sigill=1 tells the line. A program at a fixed place need not move the other sanitizer's tables.
  target_compile_options(layermeter_flags INTERFACE -fsanitize-undefined-trap-on-error)
  target_link_options(layermeter_flags INTERFACE -fsanitize=address,undefined
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
