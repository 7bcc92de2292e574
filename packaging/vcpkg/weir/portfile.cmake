# An overlay port, which builds the tree that it lies in:
#   vcpkg install weir --overlay-ports=packaging/vcpkg
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
get_filename_component(tree "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
  redis WEIR_BUILD_REDIS
  server WEIR_BUILD_SERVER)
vcpkg_cmake_configure(SOURCE_PATH "${tree}"
  OPTIONS ${features} -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/weir)
vcpkg_fixup_pkgconfig()
if("server" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES weir AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${tree}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
