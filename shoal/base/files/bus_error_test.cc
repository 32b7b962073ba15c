#include "shoal/base/files/bus_error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shoal/base/files/file.h"
#include "shoal/base/files/temporary_folder.h"

namespace shoal {
namespace {

TEST(BusErrorDeathTest, OfATruncatedFileIsAnExitCode) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path path = folder->path() / "weights";
  std::ofstream(path) << std::string(1 << 16, 'w');
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path, 0);
  const auto read_last = [&] {
    exit_on_bus_error(8);
    const volatile std::byte last = (*file)->bytes().back();
    static_cast<void>(last);
  };
  EXPECT_EXIT(read_last(), testing::ExitedWithCode(8), "became shorter while it was in use");
}

}  // namespace
}  // namespace shoal
