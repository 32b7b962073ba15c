// ListedWorker: a worker as the owner of a cluster lists it.
#pragma once

#include <string>

namespace shoal::cluster {

struct ListedWorker {
  std::string name;     // as certified
  std::string address;  // "192.168.1.7:7070"

  friend bool operator==(const ListedWorker&, const ListedWorker&) = default;
};

}  // namespace shoal::cluster
