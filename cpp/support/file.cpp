#include "support/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace glr {

namespace {

[[noreturn]] void fail(int error, const std::string& path) {
  throw std::filesystem::filesystem_error("file", path, std::error_code(error, std::generic_category()));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

std::string read_file(const std::string& path) {
  // Not to wait for a writer when the path is a pipe, which is refused.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail(errno, path);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail(errno, path);
  if (S_ISDIR(status.st_mode)) fail(EISDIR, path);
  if (!S_ISREG(status.st_mode)) fail(EINVAL, path);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno != EINTR) fail(errno, path);
    if (n == 0) break;  // it became shorter
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  bytes.resize(at);
  return bytes;
}

void replace_file(const std::string& path, std::string_view bytes) {
  static std::atomic<unsigned> files{0};  // names of this process differ by it
  std::string temporary;
  int fd = -1;
  do {
    temporary = path + "." + std::to_string(::getpid()) + "-" + std::to_string(files++) + ".tmp";
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) fail(errno, path);
  Descriptor file(fd);
  const auto require = [&](bool done) {
    if (done) return;
    const int error = errno;
    ::unlink(temporary.c_str());
    fail(error, path);
  };
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    require(n >= 0 || errno == EINTR);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  require(::fsync(file.get()) == 0);
  require(file.close() == 0);
  require(::rename(temporary.c_str(), path.c_str()) == 0);
}

}  // namespace glr
