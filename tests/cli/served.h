// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/serve/frame.h"
#include "core/serve/messages.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardscope::test {

using namespace shardscope::serve;

/// What came back for one request.
struct Answer {
    std::string data;
    std::string file;
    Reply last;
    std::string payload; ///< of the last frame
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(data); }
    [[nodiscard]] std::string error() const
    {
        return last.reply == reply::kError ? nlohmann::json::parse(payload).value("code", "") : "";
    }
};

inline Request asking(std::string_view what, uint64_t of = 0)
{
    Request out;
    out.ask = what;
    out.of = of;
    return out;
}

inline std::string readFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A server with a pipe as its input.
class Served
{
public:
    explicit Served(const Words& options = {}, const std::string& before = {})
    {
        const std::string pipe = (m_folder / "input").string();
        REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
        m_input = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        Words words{"/bin/sh", "-c", before + "exec \"$0\" serve \"$@\" <\"$SERVE_INPUT\"", programPath()};
        words.insert(words.end(), options.begin(), options.end());
        m_process.emplace(words, ProcessOptions{.environment = {{"SERVE_INPUT", pipe}}});
        REQUIRE(m_process->waitForOutput("\"hello\"")); // it has opened the pipe
    }
    ~Served() { end(); }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    /// Its id.
    uint64_t send(Request request, std::string_view payload = {})
    {
        if (request.id == 0)
            request.id = ++m_last;
        write(frameStart(requestText(request), payload.size()).append(payload));
        return request.id;
    }
    /// Throws if the server does not read it.
    void write(std::string_view bytes) const
    {
        while (!bytes.empty()) {
            pollfd wait{m_input, POLLOUT, 0};
            const bool isReady = ::poll(&wait, 1, 20'000) == 1;
            const ssize_t count = isReady ? ::write(m_input, bytes.data(), bytes.size()) : -1;
            if (count <= 0)
                throw std::runtime_error("the server does not read its input");
            bytes.remove_prefix(static_cast<size_t>(count));
        }
    }
    void waitFor(uint64_t id)
    {
        const std::string start = "{\"id\":" + std::to_string(id) + ",\"reply\":\"";
        REQUIRE(m_process->waitForOutput(std::vector{start + "done\"", start + "error\""}));
    }
    /// Both.
    uint64_t ask(Request request, std::string_view payload = {})
    {
        const uint64_t id = send(std::move(request), payload);
        waitFor(id);
        return id;
    }
    [[nodiscard]] Process& process() { return *m_process; }
    /// Ends the input; the answers by id, and what the process left.
    /// `isIdle`: no request is under way then.
    std::map<uint64_t, Answer> answers(ProcessResult& result, bool isAlive = true, bool isIdle = true)
    {
        if (isAlive)
            ask(asking(ask::kCancel, 1)); // what was sent before has arrived whole then
        end();
        result = m_process->wait();
        FrameReader reader;
        reader.add({reinterpret_cast<const uint8_t*>(result.out.data()), result.out.size()});
        std::map<uint64_t, Answer> out;
        for (auto next = reader.next(); next && *next; next = reader.next()) {
            const auto header = nlohmann::json::parse((*next)->header);
            CHECK(schemaErrors(readSchema("serve-reply"), header, true).empty());
            const auto reply = parseReply((*next)->header);
            REQUIRE(reply.has_value());
            Answer& answer = out[reply->id];
            if (reply->reply == reply::kData)
                answer.data += (*next)->payload;
            else if (reply->reply == reply::kFile)
                answer.file += (*next)->payload;
            else if (reply->reply != reply::kProgress)
                std::tie(answer.last, answer.payload) = std::pair(*reply, (*next)->payload);
        }
        CHECK_FALSE((isAlive && isIdle && reader.isInside()));
        return out;
    }

private:
    void end()
    {
        if (m_input >= 0)
            ::close(m_input);
        m_input = -1;
    }

    TemporaryFolder m_folder;
    int m_input = -1;
    uint64_t m_last = 0;
    std::optional<Process> m_process;
};

/// A plan that was saved and run.
struct Run {
    explicit Run(const std::string& sample, Words plan)
        : source(copySample(sample, folder))
    {
        plan.insert(plan.begin(), "plan");
        plan.insert(plan.begin() + 2, {source, (folder / "out").string()});
        words = plan;
        plan.insert(plan.end(), {"-o", path()});
        answerOf(plan);
        answer = answerOf({"run", path()});
    }
    [[nodiscard]] std::string path() const { return (folder / "plan.json").string(); }
    [[nodiscard]] std::string fileOf(const std::string& name) const
    {
        return readFile(folder / "out" / std::string(answer["plan"]["target"]) / name);
    }

    TemporaryFolder folder;
    std::string source;
    Words words; ///< of `plan`
    nlohmann::json answer;
};

} // namespace shardscope::test
