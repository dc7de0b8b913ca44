// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/base/result.h"
#include "core/far/far_line.h"
#include "core/io/file_system.h"
#include "core/serve/messages.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::far {

/// A question to another host.
struct FarQuestion {
    serve::Request request; ///< without an id
    std::string payload = {};
    /// Take what arrives, on another thread. An error ends the connection.
    std::function<Status(std::string_view bytes)> data = {};
    std::function<Status(std::string_view bytes)> file = {};
    std::function<void(std::string_view json)> progress = {};
    std::function<void(std::string_view lines)> message = {};
    const JobContext* job = nullptr; ///< whose stop cancels it
    bool outlivesStop = false; ///< FarSettings::stop does not cancel it
};

struct FarAnswer {
    serve::Reply last; ///< of a command with its exit status, which is one of this program
    std::string payload;
};

/// What went over the wire, for the log.
struct FarTraffic {
    uint64_t questions = 0;
    uint64_t bytesSent = 0;
    uint64_t bytesReceived = 0;
};

/// How a connection is, for somebody who waits.
struct FarCondition {
    enum class State : uint8_t { Unused, Connecting, Connected, Lost };
    State state = State::Unused;
    std::chrono::milliseconds silent{}; ///< while somebody waits: since it began, or since the last byte
    std::string doing = {}; ///< while it connects: what takes long, if it is known
    std::string asks = {}; ///< while it connects: what ssh waits for a person for (ssh_prompt.h)
    std::string why = {}; ///< it is lost
};

/// A connection to another host, made when it is first needed; many questions can be under way. Thread-safe.
///
/// Once lost, it stays lost until connectAgain(), so that a job meets one error and not a gap. It is lost,
/// too, where no byte arrives for as long as FarSettings::silence: the other end says every 5 s that it is
/// there.
class FarHost
{
public:
    explicit FarHost(std::string host);
    ~FarHost();
    FarHost(const FarHost&) = delete;
    FarHost& operator=(const FarHost&) = delete;

    [[nodiscard]] const std::string& name() const { return m_name; }
    /// The stop of the calling thread's job (current_stop.h) ends it, too, but not a question about jobs once
    /// there is a connection: one that is being made ends with it.
    ///
    /// Errors of FarLine::start(); Unreadable when the connection is lost; those that the other end gives,
    /// with their paths as paths of this host; Hostile if what it sends is no answer; Cancelled.
    Result<FarAnswer> ask(const FarQuestion& question);
    [[nodiscard]] FarTraffic traffic() const;
    /// Waits for nothing.
    [[nodiscard]] FarCondition condition() const;
    /// If it is lost: the next question connects again.
    void connectAgain();
    /// While it connects: ends that, and all that wait for it meet Unreadable. Waits for nothing.
    void stopConnecting();

private:
    struct Connection;
    Result<std::shared_ptr<Connection>> connection(const FarQuestion& question);
    Result<std::shared_ptr<Connection>> connect(FarSettings settings);
    /// Whether it could not be made, or was lost.
    [[nodiscard]] bool isLost() const;

    std::string m_name;
    std::timed_mutex m_connecting; ///< while it connects: other questions wait for it
    mutable std::mutex m_mutex; ///< of all that follows
    std::shared_ptr<Connection> m_connection;
    std::optional<Error> m_failed; ///< why it could not be made
    std::optional<std::chrono::steady_clock::time_point> m_began; ///< while it connects
    std::string m_doing;
    std::string m_asks;
    std::stop_source m_attempt; ///< to connect
    bool m_isGivenUp = false; ///< by stopConnecting()
};

/// An error of a host: its path, absolute or below "~", becomes a path of this machine's FarFiles.
Error ofHost(Error error, const std::string& host);

/// FarHost::connectAgain() for the host of each path that is far.
void connectAgainTo(std::span<const io::Path> paths);

/// The host of this name, one for the process.
FarHost& farHost(const std::string& name);
/// Of all hosts that this process is connected to, by name.
std::vector<std::pair<std::string, FarTraffic>> farTraffic();
/// For connections that are made from now on.
void setFarSettings(FarSettings settings);
FarSettings farSettings();

} // namespace shardscope::far
