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
  # Undefined behaviour ends the program by a trap. Texts that explain each place would add 9 MB of data to each program
  # and a third to the time of the compiler. ASAN_OPTIONS=handle_sigill=1 prints the file and line of a trap.
  # A program at a fixed place (-no-pie) does not relocate the tables of the address sanitizer at each start.
  target_compile_options(layermeter_flags INTERFACE -fsanitize-undefined-trap-on-error)
  target_link_options(layermeter_flags INTERFACE -fsanitize=address,undefined
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
