# weir_library(NAME weir_limit [EXPORTED [AS name]] [HEADERS glob...] [SOURCES a.cpp...]
#              [LIBRARIES target...])
#
# One layer of the house. Without sources it is an INTERFACE library, so a layer can exist before
# its first source file does. EXPORTED layers are installed and seen by others as weir::<name>; one
# without HEADERS is there for those that are linked with it.
# Globs are for installed headers only: all below include/ is public, so there is no list to keep.
function(weir_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "EXPORTED" "NAME;AS" "HEADERS;SOURCES;LIBRARIES")
  if(arg_SOURCES)
    add_library(${arg_NAME} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  else()
    add_library(${arg_NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_compile_features(${arg_NAME} ${scope} cxx_std_20)
  target_link_libraries(${arg_NAME} ${scope} ${arg_LIBRARIES})

  if(arg_HEADERS)
    set(include_root "${PROJECT_SOURCE_DIR}/include")
    list(TRANSFORM arg_HEADERS PREPEND "${include_root}/weir/")
    file(GLOB headers CONFIGURE_DEPENDS ${arg_HEADERS})
    target_sources(${arg_NAME} ${scope}
      FILE_SET HEADERS BASE_DIRS "${include_root}" FILES ${headers})
  endif()
  if(NOT arg_EXPORTED OR NOT arg_HEADERS)
    target_include_directories(${arg_NAME} ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  endif()
  if(NOT arg_EXPORTED)
    return()
  endif()

  string(REPLACE "weir_" "" short_name ${arg_NAME})
  if(arg_AS)
    set(short_name ${arg_AS})
  endif()
  set_target_properties(${arg_NAME} PROPERTIES EXPORT_NAME ${short_name})
  add_library(weir::${short_name} ALIAS ${arg_NAME})
  set_property(GLOBAL APPEND PROPERTY WEIR_EXPORTED ${arg_NAME})
endfunction()
