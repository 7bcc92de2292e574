"""weir for Conan 2, from the tree that this recipe lies in: conan create packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Weir(ConanFile):
    name = "weir"
    description = "Rate limiting with a stated bound"
    license = "Apache-2.0"
    topics = ("rate-limiting", "gcra", "token-bucket")
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"
    # The server, and limits in a Redis, are built with the libraries that the system has:
    # `./do build` names them.
    options = {"redis": [True, False], "server": [True, False], "fPIC": [True, False]}
    default_options = {"redis": False, "server": False, "fPIC": True}

    @property
    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._tree, "CMakeLists.txt"))
        self.version = re.search(r"project\(weir VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._tree, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            WEIR_BUILD_REDIS=bool(self.options.redis),
            WEIR_BUILD_SERVER=bool(self.options.server), WEIR_BUILD_TESTS=False,
            WEIR_BUILD_BENCH=False, CMAKE_INSTALL_LIBDIR="lib")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # weir's own weirConfig.cmake serves find_package(weir); the rest is for other generators.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "weir")]
        self.cpp_info.set_property("pkg_config_name", "weir")
        self.cpp_info.libs = ["weir_http", "weir_local", "weir_limit"]
