// What a supervisor hears.
#include "shoal/base/processes/supervisor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "shoal/base/files/temporary_folder.h"

namespace shoal {
namespace {

class Supervisor : public testing::Test {
 protected:
  Supervisor() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Supervisor() override {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(fd_);
  }
  std::string heard() const {
    std::array<char, 64> text{};
    const ssize_t size = ::recv(fd_, text.data(), text.size(), 0);
    return size < 0 ? "" : std::string(text.data(), static_cast<size_t>(size));
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string path_ = folder_.path() / "socket";
  int fd_ = -1;
};

TEST_F(Supervisor, IsToldWhereItListens) {
  ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  notify_supervisor("READY=1");
  EXPECT_EQ(heard(), "READY=1");
  notify_supervisor("STOPPING=1");
  EXPECT_EQ(heard(), "STOPPING=1");
}

TEST_F(Supervisor, IsNotMissedWhereThereIsNone) {
  notify_supervisor("READY=1");
  ::setenv("NOTIFY_SOCKET", "", 1);
  notify_supervisor("READY=1");
  ::setenv("NOTIFY_SOCKET", std::string(500, 'x').c_str(), 1);
  notify_supervisor("READY=1");
  ::setenv("NOTIFY_SOCKET", (path_ + "-nobody").c_str(), 1);
  notify_supervisor("READY=1");
  EXPECT_EQ(heard(), "");
}

}  // namespace
}  // namespace shoal
