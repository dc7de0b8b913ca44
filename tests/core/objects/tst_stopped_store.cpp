// SPDX-License-Identifier: Apache-2.0
// The stop of a job reaches a question to an object store that does not answer.
#include "core/base/current_stop.h"
#include "core/base/parallel.h"
#include "core/objects/object_store.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace shardscope;
using namespace std::chrono_literals;

namespace {

/// Takes connections and says nothing.
class SilentServer
{
public:
    SilentServer()
        : m_socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        REQUIRE(::bind(m_socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
        REQUIRE(::listen(m_socket, 64) == 0);
        REQUIRE(::getsockname(m_socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        m_url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ~SilentServer() { ::close(m_socket); }
    SilentServer(const SilentServer&) = delete;
    SilentServer& operator=(const SilentServer&) = delete;

    [[nodiscard]] const std::string& url() const { return m_url; }

private:
    int m_socket;
    std::string m_url;
};

} // namespace

TEST_CASE("a job that is stopped does not wait for an object store")
{
    const SilentServer server;
    const auto environment = [&](std::string_view name) {
        return name == "AWS_ENDPOINT_URL" ? server.url()
            : name == "HOME"              ? std::string("/nonexistent")
                                          : std::string();
    };
    const auto store = objects::openObjectStore(io::realFileSystem(), environment, {});
    if (!store && store.error().code == ErrorCode::Unsupported) {
        MESSAGE("skipped: " << store.error().message);
        return;
    }
    REQUIRE(store);
    std::stop_source stop;
    JobContext job(stop.get_token());
    const Thread stopper = Thread::start([&] {
        std::this_thread::sleep_for(300ms);
        stop.request_stop();
    });
    const auto began = std::chrono::steady_clock::now();
    const Status done = runWorkers(4, 4, job, [&](size_t, size_t) -> Status {
        const auto listed = (*store)->list({"bucket", "folder"});
        return listed ? Status() : forward(listed.error());
    });
    CHECK((!done && done.error().code == ErrorCode::Cancelled));
    CHECK(std::chrono::steady_clock::now() - began < 10s);
    CHECK(!isThreadStopped());
    const StopScope scope(stop.get_token());
    const auto listed = (*store)->list({"bucket", "folder"});
    CHECK((!listed && listed.error().code == ErrorCode::Cancelled));
}
