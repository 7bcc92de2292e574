// The main() of a fuzz target where libFuzzer is not linked: feeds it every file of a corpus.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argument_count, char** arguments) {
  namespace fs = std::filesystem;
  if (argument_count != 2 || !fs::is_directory(arguments[1])) {
    std::cerr << "usage: " << arguments[0] << " FOLDER_OF_CORPUS_FILES\n";
    return EXIT_FAILURE;
  }

  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(arguments[1])) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (files.empty()) {
    std::cerr << arguments[1] << " holds no files; an empty corpus proves nothing.\n";
    return EXIT_FAILURE;
  }
  std::sort(files.begin(), files.end());

  for (const fs::path& file : files) {
    // Flushed before the run, so that a crash leaves the name of its file as the last line.
    std::cout << file.string() << '\n' << std::flush;
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    // A copy of exactly that size, for the address sanitizer to watch both ends.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::cout << files.size() << " files replayed\n";
  return EXIT_SUCCESS;
}
