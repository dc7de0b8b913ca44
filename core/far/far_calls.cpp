// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_calls.h"

#include "core/base/parallel.h"
#include "core/far/far_host.h"
#include "core/io/outage_watch.h"

#include <algorithm>
#include <cstring>

namespace shardscope::far {

using serve::FileCall;
using serve::FileResult;

namespace {

constexpr size_t kQuestionCalls = 8192;
constexpr size_t kQuestionsAtOnce = 8;

/// A question with calls [begin, end).
std::vector<FileResult> askOnce(
    FarHost& host, const AskedCalls& asked, size_t begin, size_t end, std::string* text)
{
    const std::span<const FileCall> calls = std::span(asked.calls).subspan(begin, end - begin);
    uint64_t most = 0;
    for (const FileCall& call : calls)
        most += call.bytes;
    std::string data;
    const FarQuestion question{.request = {.ask = std::string(serve::ask::kFiles)},
        .payload = serve::fileCallsText(calls),
        .data = [&](std::string_view bytes) -> Status {
            if (bytes.size() > most - data.size())
                return fail(ErrorCode::Hostile, "the other end sends more data than were asked for");
            data += bytes;
            return {};
        }};
    const auto answer = host.ask(question);
    auto results = answer ? serve::parseFileResults(answer->payload, calls)
                          : Result<std::vector<FileResult>>(forward(answer.error()));
    std::optional<Error> failed;
    uint64_t given = 0;
    if (!results)
        failed = results.error();
    else
        for (const FileResult& result : *results)
            given += result.bytes;
    if (!failed && given != data.size())
        failed = Error{ErrorCode::Hostile, "the other end sends other data than it says", host.name(), {}};
    if (failed) {
        if (failed->code != ErrorCode::Cancelled)
            io::noteOutage(*failed, host.name());
        return std::vector<FileResult>(calls.size(), FileResult{.error = failed});
    }
    size_t at = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
        FileResult& result = (*results)[i];
        result.info.identity = marked(result.info.identity, host.name());
        if (result.error) {
            result.error = ofHost(std::move(*result.error), host.name());
            if (result.isOutage)
                io::noteOutage(*result.error, host.name());
        }
        if (text != nullptr)
            *text = data.substr(at, result.bytes);
        else if (result.bytes > 0)
            std::memcpy(asked.outs[begin + i].data(), data.data() + at, result.bytes);
        at += result.bytes;
    }
    return std::move(*results);
}

} // namespace

void AskedCalls::add(FileCall call, size_t place, std::span<uint8_t> out)
{
    calls.push_back(std::move(call));
    outs.push_back(out);
    places.push_back(place);
}

io::FileIdentity marked(io::FileIdentity identity, const std::string& host)
{
    identity.device ^= std::hash<std::string>()(host) | 1;
    return identity;
}

FileCall callOf(std::string_view what, const FarPath& path)
{
    return {.call = std::string(what), .path = path.path.string()};
}

FileResult askOne(const FarPath& path, FileCall call, std::string* text)
{
    AskedCalls asked;
    asked.add(std::move(call), 0);
    return std::move(askOnce(farHost(path.host), asked, 0, 1, text).front());
}

std::vector<FileResult> askHost(const std::string& host, const AskedCalls& asked)
{
    FarHost& line = farHost(host);
    std::vector<std::pair<size_t, size_t>> questions;
    uint64_t bytes = 0;
    for (size_t i = 0; i < asked.calls.size(); ++i) {
        const bool isFull = !questions.empty()
            && (bytes + asked.calls[i].bytes > kQuestionBytes
                || i - questions.back().first >= kQuestionCalls);
        if (questions.empty() || isFull) {
            questions.emplace_back(i, i);
            bytes = 0;
        }
        bytes += asked.calls[i].bytes;
        questions.back().second = i + 1;
    }
    std::vector<FileResult> out(asked.calls.size());
    JobContext job;
    (void)parallelFor(questions.size(), kQuestionsAtOnce, job, [&](size_t number) {
        const auto [begin, end] = questions[number];
        auto results = askOnce(line, asked, begin, end, nullptr);
        std::ranges::move(results, out.begin() + static_cast<ptrdiff_t>(begin));
        return Status();
    });
    return out;
}

void askHosts(
    const std::map<std::string, AskedCalls>& byHost, const std::function<void(size_t, FileResult)>& take)
{
    std::vector<const std::pair<const std::string, AskedCalls>*> hosts;
    for (const auto& one : byHost)
        hosts.push_back(&one);
    std::mutex mutex;
    JobContext job;
    (void)parallelFor(hosts.size(), static_cast<unsigned>(hosts.size()), job, [&](size_t i) {
        const AskedCalls& asked = hosts[i]->second;
        std::vector<FileResult> results = askHost(hosts[i]->first, asked);
        const std::lock_guard lock(mutex);
        for (size_t k = 0; k < results.size(); ++k)
            take(asked.places[k], std::move(results[k]));
        return Status();
    });
}

} // namespace shardscope::far
