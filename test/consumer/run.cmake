# Installs the build tree BINARY_DIR below SCRATCH and there builds the project CONSUMER against it.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${BINARY_DIR}" --prefix "${SCRATCH}/at_first")
# Moved once, to prove that nothing in it remembers where it was put.
file(RENAME "${SCRATCH}/at_first" "${SCRATCH}/installed")

run("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${SCRATCH}/build" -G Ninja
  "-DCMAKE_PREFIX_PATH=${SCRATCH}/installed" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build")
run("${SCRATCH}/build/consumer")
run("${SCRATCH}/build/handler")
run("${SCRATCH}/build/sharing")

# The same source by pkg-config alone.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc_file "${SCRATCH}/installed/weir.pc")
  cmake_path(GET pc_file PARENT_PATH pc_folder)
  set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
  foreach(source_of IN ITEMS "main.cpp of weir" "handler.cpp of weir" "sharing.cpp of weir-redis")
    string(REPLACE " of " ";" source_and_package "${source_of}")
    list(GET source_and_package 0 source)
    list(GET source_and_package 1 package)
    execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs ${package}
      OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags)
    run("${COMPILER}" -std=c++20 "${CONSUMER}/${source}" ${flags} -o "${SCRATCH}/by_${package}")
    run("${SCRATCH}/by_${package}")
  endforeach()
endif()
