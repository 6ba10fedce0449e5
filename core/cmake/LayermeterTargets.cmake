# Flags of our own code, as a target: nothing is set for whole directories.

add_library(layermeter_flags INTERFACE)
target_compile_features(layermeter_flags INTERFACE c_std_11)
target_compile_definitions(layermeter_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(layermeter_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes -Wstrict-prototypes
  $<$<BOOL:${LAYERMETER_WERROR}>:-Werror>)
if(LAYERMETER_SANITIZE)
  target_compile_options(layermeter_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(layermeter_flags INTERFACE -fsanitize=address,undefined)
endif()
