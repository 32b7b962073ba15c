// Epochs as workers and coordinators keep them, for run.py:
//   epochs follow FILE NUMBER   a worker follows a coordinator
//   epochs show FILE            the number that it would say after a restart
//   epochs next FOLDER          a coordinator takes the next number
#include <cstdio>
#include <cstdlib>
#include <string>

#include "shoal/cluster/members/epoch_file.h"
#include "shoal/cluster/members/folder.h"

namespace {

using namespace shoal;

Result<uint64_t> run(const std::string& verb, const std::string& path, const char* number) {
  if (verb == "next") return cluster::ClusterFolder(path).next_epoch();
  SHOAL_ASSIGN(cluster::EpochFile file, cluster::EpochFile::open(path));
  if (verb == "follow") {
    SHOAL_TRY(file.keep({.number = std::strtoull(number, nullptr, 10), .in_charge = "owner"}));
  }
  return file.latest().number;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto number = run(argv[1], argv[2], argc > 3 ? argv[3] : "0");
  if (!number.ok()) {
    std::fprintf(stderr, "%s\n", std::string(number.status().message()).c_str());
    return 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(*number));
  return 0;
}
