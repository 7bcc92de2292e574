# The ways to add a test. Each label has a target <label>_tests that builds what the label runs.
include(GoogleTest)

foreach(label IN ITEMS fast slow redis net fuzz bench_smoke tsan)
  add_custom_target(${label}_tests)
endforeach()

if(WEIR_BUILD_TESTS)
  find_package(GTest REQUIRED)

  # What every test program reads first is read once. A program whose sources are compiled with
  # flags of their own says DISABLE_PRECOMPILE_HEADERS.
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/precompiled_for_tests.cpp" CONTENT "")
  add_library(precompiled_for_tests OBJECT "${PROJECT_BINARY_DIR}/precompiled_for_tests.cpp")
  target_compile_features(precompiled_for_tests PRIVATE cxx_std_20)
  target_link_libraries(precompiled_for_tests PRIVATE GTest::gtest)
  target_precompile_headers(precompiled_for_tests PRIVATE <algorithm> <chrono> <random>
    <gtest/gtest.h>)
endif()
if(WEIR_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()

# What every program below has: the include roots, and a place in <label>_tests.
function(weir_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABEL;SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  foreach(label IN LISTS arg_LABEL)
    add_dependencies(${label}_tests ${name})
  endforeach()
endfunction()

# weir_test(NAME resp_test LABEL fast [tsan] SOURCES resp_test.cpp [LIBRARIES weir_wire]
#           [TIMEOUT seconds])
#
# A GoogleTest executable; each of its TESTs is one ctest. LABEL tsan beside the other has it run
# under the thread sanitizer too.
function(weir_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "LABEL;SOURCES;LIBRARIES")
  # One label each: gtest_discover_tests() would take a second for the name of a property.
  set(label ${arg_LABEL})
  if(tsan IN_LIST label)
    list(REMOVE_ITEM label tsan)
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
      set(label tsan)
    endif()
  endif()
  if(NOT label MATCHES "^(fast|slow|redis|net|tsan)$")
    message(FATAL_ERROR "weir_test(${arg_NAME}): LABEL is fast, slow, redis or net; and tsan.")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  weir_test_program(${arg_NAME} LABEL ${arg_LABEL} SOURCES ${arg_SOURCES}
    LIBRARIES ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  target_precompile_headers(${arg_NAME} REUSE_FROM precompiled_for_tests)
  # -fpch-preprocess has ccache see that a precompiled header is read. g++ 12 forgets that the
  # standard library came by one, and warns of its strings where they are inlined.
  target_compile_options(${arg_NAME} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized
    -Wno-dangling-pointer -Wno-use-after-free -Wno-free-nonheap-object>)
  # Listing the tests when ctest starts, not after each link, keeps a build from running programs.
  # The prefix keeps apart the tests of two programs made of one source.
  gtest_discover_tests(${arg_NAME} TEST_PREFIX "${arg_NAME}."
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
endfunction()

# weir_fuzz_target(NAME resp SOURCES resp_fuzz.cpp [LIBRARIES weir_wire])
#
# SOURCES define LLVMFuzzerTestOneInput. Under the fuzz preset this is a libFuzzer program;
# elsewhere it is a ctest (label fuzz) that replays every file of test/fuzz/corpus/<NAME>/.
function(weir_fuzz_target)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBRARIES")
  set(target fuzz_${arg_NAME})
  weir_test_program(${target} LABEL fuzz SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  if(WEIR_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/test/fuzz/replay.cpp")
  add_test(NAME fuzz.${arg_NAME}
    COMMAND ${target} "${PROJECT_SOURCE_DIR}/test/fuzz/corpus/${arg_NAME}")
  set_tests_properties(fuzz.${arg_NAME} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()

# weir_benchmark(NAME how_fast_is_a_grant SOURCES how_fast_is_a_grant.cpp [LIBRARIES weir_local])
#
# A Google Benchmark program in build/<preset>/bench/, and a ctest (label bench_smoke) that runs
# it just long enough to see that it works. ./do bench runs what is there and asks a question.
function(weir_benchmark)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBRARIES")
  weir_test_program(${arg_NAME} LABEL bench_smoke SOURCES ${arg_SOURCES}
    LIBRARIES ${arg_LIBRARIES} benchmark::benchmark_main)
  set_target_properties(${arg_NAME}
    PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_test(NAME bench.${arg_NAME} COMMAND ${arg_NAME} --benchmark_min_time=0.001)
  set_tests_properties(bench.${arg_NAME} PROPERTIES LABELS bench_smoke TIMEOUT 120)
endfunction()
