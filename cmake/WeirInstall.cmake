# find_package(weir) gives weir::weir and the layers below it; pkg-config knows the same as `weir`.
# Two components: `development` is the library for those who build with it, `server` the program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(exported GLOBAL PROPERTY WEIR_EXPORTED)
install(TARGETS ${exported} EXPORT weir_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
install(EXPORT weir_targets NAMESPACE weir:: FILE weirConfig.cmake
  DESTINATION ${package_folder} COMPONENT development)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weirConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weirConfigVersion.cmake"
  DESTINATION ${package_folder} COMPONENT development)

# Dependents first, as a static link wants them.
set(WEIR_ARCHIVES "")
foreach(target IN ITEMS weir_local weir_limit)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND WEIR_ARCHIVES " -l${target}")
  endif()
endforeach()
# Relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH WEIR_INCLUDE_FROM_PC
  "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weir.pc.in" "${PROJECT_BINARY_DIR}/weir.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/weir.pc"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(TARGET weir)
  install(TARGETS weir RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  # Optional, so that a build of the program alone can be installed too.
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
