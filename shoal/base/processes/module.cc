#include "shoal/base/processes/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace shoal {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> places_of(const std::string& file) {
  std::vector<fs::path> places;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = program.parent_path();
    places = {folder / file, folder.parent_path() / SHOAL_LIBDIR / "shoal" / file};
  }
  Dl_info library{};
  if (::dladdr(reinterpret_cast<const void*>(&open_module), &library) != 0 &&
      library.dli_fname != nullptr) {
    const fs::path folder = fs::path(library.dli_fname).parent_path();
    if (folder.is_absolute()) places.insert(places.end(), {folder / file, folder / "shoal" / file});
  }
  return places;
}

}  // namespace

Result<void*> open_module(const std::string& file) {
  std::string why = "there is no " + file;
  for (const fs::path& path : places_of(file)) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    why = ::dlerror();
  }
  return Status(Code::kUnsupported, why);
}

}  // namespace shoal
