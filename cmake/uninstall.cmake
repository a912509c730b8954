# Removes what the last cmake --install of a build folder installed: exactly the files of
# installed.txt, as make uninstall does.
if(NOT EXISTS "${RECORD}")
  message(FATAL_ERROR "nothing was installed from this build folder")
endif()
include("${RECORD}")
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MAKELEVEL
  "${MAKE}" --no-print-directory -C "${SOURCE}" uninstall ${settings}
  COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE "${RECORD}")
