# find_package(weir) gives weir::weir and the layers below it, with COMPONENTS redis weir::redis
# too; pkg-config knows the same as `weir` and `weir-redis`.
# Two components: `development` is the library for those who build with it, `server` the program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The redis component is in a file of its own: it names libraries of others.
get_property(exported GLOBAL PROPERTY WEIR_EXPORTED)
set(redis_exported ${exported})
list(FILTER exported EXCLUDE REGEX "^weir_(wire|redis)")
list(FILTER redis_exported INCLUDE REGEX "^weir_(wire|redis)")
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
function(install_exported name)
  install(TARGETS ${ARGN} EXPORT ${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(EXPORT ${name} NAMESPACE weir:: FILE ${name}.cmake
    DESTINATION ${package_folder} COMPONENT development)
endfunction()
install_exported(weirTargets ${exported})
if(WEIR_BUILD_REDIS)
  install_exported(weirRedisTargets ${redis_exported})
endif()

write_basic_package_version_file("${PROJECT_BINARY_DIR}/weirConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake"
    "${PROJECT_BINARY_DIR}/weirConfigVersion.cmake"
  DESTINATION ${package_folder} COMPONENT development)

# Dependents first, as a static link wants them.
set(WEIR_ARCHIVES "")
foreach(target IN ITEMS weir_http weir_local weir_limit)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND WEIR_ARCHIVES " -l${target}")
  endif()
endforeach()
# Relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH WEIR_INCLUDE_FROM_PC
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weir.pc.in" "${PROJECT_BINARY_DIR}/weir.pc" @ONLY)
if(WEIR_BUILD_REDIS)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/weir-redis.pc.in"
    "${PROJECT_BINARY_DIR}/weir-redis.pc" @ONLY)
  set(redis_pc "${PROJECT_BINARY_DIR}/weir-redis.pc")
endif()
install(FILES "${PROJECT_BINARY_DIR}/weir.pc" ${redis_pc}
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(TARGET weir)
  install(TARGETS weir RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  # Optional, so that a build of the program alone can be installed too.
  # A folder of its own, found by `weir module path`: it is for servers to load, not to link.
  install(TARGETS weir_module LIBRARY DESTINATION lib/weir COMPONENT server OPTIONAL)
  set(beside "${PROJECT_BINARY_DIR}/beside")
  install(FILES "${beside}/weir.1"
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server OPTIONAL)
  install(FILES "${beside}/weir"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT server OPTIONAL)
  install(FILES "${beside}/_weir"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT server OPTIONAL)
  install(FILES "${beside}/weir.fish"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT server OPTIONAL)
endif()
