// Service: one thread on which handshakes run.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace shoal::net {

class Service {
 public:
  Service() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
  ~Service() {
    io_.stop();
    thread_.join();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  boost::asio::io_context& io() { return io_; }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace shoal::net
