# What the two .deb packages hold beside the installed tree, and how CPack makes them.
#
# Two, because their readers differ: `weir` is a service with a user and a unit, and needs a few
# shared libraries; `libweir-dev` is headers and archives, and needs nothing.
if(NOT WEIR_BUILD_SERVER OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  message(FATAL_ERROR "WEIR_DEB: expected the server, for /usr; use: cmake --preset package")
endif()
set(debian "${PROJECT_SOURCE_DIR}/packaging/debian")

# The package's version is the first line of its change log; it must be one of this weir.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${debian}/changelog" "${PROJECT_SOURCE_DIR}/CHANGELOG.md")
file(STRINGS "${debian}/changelog" newest LIMIT_COUNT 1)
if(NOT newest MATCHES "^weir \\(([0-9.]+)-([0-9]+)\\)"
    OR NOT CMAKE_MATCH_1 STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "packaging/debian/changelog begins with\n  ${newest}\n"
    "expected weir (${PROJECT_VERSION}-N); add an entry for this version.")
endif()
set(debian_revision ${CMAKE_MATCH_2})

set(compressed "${PROJECT_BINARY_DIR}/debian")
file(MAKE_DIRECTORY "${compressed}")
function(compress source target)
  execute_process(COMMAND gzip -9n --stdout "${source}" OUTPUT_FILE "${compressed}/${target}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
compress("${debian}/changelog" changelog.Debian.gz)
compress("${PROJECT_SOURCE_DIR}/CHANGELOG.md" changelog.gz)

foreach(component IN ITEMS server development)
  set(package weir)
  if(component STREQUAL "development")
    set(package libweir-dev)
  endif()
  install(FILES "${debian}/copyright" "${compressed}/changelog.Debian.gz"
      "${compressed}/changelog.gz"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  install(FILES "${debian}/${package}.lintian-overrides" RENAME ${package}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
endforeach()
install(CODE [[
  file(GLOB manuals "$ENV{DESTDIR}/usr/share/man/man1/weir*.1")
  execute_process(COMMAND gzip -9nf ${manuals} COMMAND_ERROR_IS_FATAL ANY)
]] COMPONENT server)
install(FILES "${debian}/weir.service" DESTINATION /lib/systemd/system COMPONENT server)
install(FILES "${debian}/weir.default" RENAME weir DESTINATION /etc/default COMPONENT server)
install(FILES "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir COMPONENT server)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir COMPONENT server
  PATTERN reference EXCLUDE)  # for a tool, not for a reader

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_SET_DESTDIR ON)  # for what lies outside /usr
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL server development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${debian_revision})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "weir maintainers <weir@example.org>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Or else the project's own line would stand before each package's.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME weir)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS tzdata)  # zones of calendar windows
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  "${debian}/postinst;${debian}/prerm;${debian}/postrm;${debian}/conffiles")
set(CPACK_COMPONENT_SERVER_DESCRIPTION "rate limiter that any Redis client can ask
weir answers one question: may this key act now? It speaks the protocol of
Redis, answers CL.THROTTLE as redis-cell does, and offers token buckets,
leaky buckets, windows and logs whose bounds its tests hold it to.

This package holds the server, as a service that listens on this machine
alone unless told otherwise, the program that asks it, and a module by
which a Redis or Valkey decides itself (weir module path).")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweir-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_MULTIARCH same)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "rate limiting in C++20: headers and archives
The algorithms of weir as pure machines that know no clock, lock or heap,
and a table that keeps the state of all keys of a process. It needs a
compiler of C++20 and the standard library alone; limits that processes
share through a Redis link OpenSSL too.

CMake finds it by find_package(weir), pkg-config as weir and weir-redis.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS libssl-dev)
include(CPack)
