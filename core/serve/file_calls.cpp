// SPDX-License-Identifier: Apache-2.0
#include "core/serve/file_calls.h"

#include "core/base/checked.h"
#include "core/describe/schema_out.h"
#include "core/serve/message_json.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace io {

/// Its numbers in a list, because requests have thousands of them.
void describe(auto& out, ConstOr<FileIdentity> auto& file)
{
    out.is("FileIdentity", "A file and its version. Times are nanoseconds since the epoch.");
    out.field("device", file.device);
    out.field("inode", file.inode);
    out.field("bytes", file.bytes);
    out.field("modified", file.modifiedNs);
    out.field("changed", file.changedNs);
}

} // namespace io

namespace serve {

namespace {

constexpr std::array kTypes{std::string_view("file"), std::string_view("folder"), std::string_view("link"),
    std::string_view("other")};

std::string typeWord(io::FileType type)
{
    return std::string(kTypes.at(static_cast<size_t>(type)));
}

/// Other for a word that is none.
io::FileType typeOf(const std::string& word)
{
    const auto found = std::ranges::find(kTypes, word);
    return found == kTypes.end() ? io::FileType::Other
                                 : static_cast<io::FileType>(std::distance(kTypes.begin(), found));
}

} // namespace

constexpr size_t kResultLimit = size_t{16} << 10; ///< bytes of a result, whose paths have 4 KiB at most
constexpr size_t kListLimit = size_t{32} << 20;

/// An error as it is sent: a hint without its retries, which are about another command line.
struct SentError {
    std::string code;
    std::string message;
    std::string path;
    std::string hint;
    bool isOutage = false;
};

struct SentInfo {
    std::string type;
    uint32_t mode = 0;
    io::FileIdentity identity;
};

struct SentEntry {
    std::string name;
    std::string type;
};

struct SentResult {
    bool isError = false;
    bool hasInfo = false;
    bool hasEntries = false;
    bool hasSpace = false;
    SentError error;
    SentInfo info;
    std::vector<SentEntry> entries;
    std::string path;
    io::Space space;
    uint64_t bytes = 0;
};

struct Calls {
    std::vector<FileCall> calls;
};

struct Results {
    std::vector<SentResult> results;
};

void describe(auto& out, ConstOr<FileCall> auto& call)
{
    out.is("FileCall", "What is asked of one path.");
    out.word("call", call.call, kCalls, "what is asked");
    out.name("path", call.path, "absolute, or below the user's home folder: ~, ~/runs");
    out.present("identity", call.identity != io::FileIdentity(), [&] {
        out.field("identity", call.identity, "of `read` and `unchanged`: what `open` gave for this file");
    });
    out.present(
        "offset", call.offset != 0, [&] { out.field("offset", call.offset, "of `read`: first byte"); });
    out.present("bytes", call.bytes != 0,
        [&] { out.field("bytes", call.bytes, "of `read`: how many; of `small`: at most so many"); });
}

void describe(auto& out, ConstOr<Calls> auto& sent)
{
    out.is("ServeFileCalls", "The payload of a request `files`: calls on files and folders.");
    out.list("calls", sent.calls, [](auto& row, auto& call) { describe(row, call); });
}

void describe(auto& out, ConstOr<SentError> auto& error)
{
    out.is("SentError", "Why a call failed.");
    out.field("code", error.code, "as `code` of shardscope/error/1");
    out.field("message", error.message);
    out.name("path", error.path);
    out.field("hint", error.hint);
    out.field(
        "outage", error.isOutage, "it says nothing about the data: the machine or its file system failed");
}

void describe(auto& out, ConstOr<SentInfo> auto& info)
{
    out.is("SentInfo", "A file or folder.");
    out.word("type", info.type, kTypes);
    out.field("mode", info.mode, "permission bits");
    out.field("identity", info.identity);
}

void describe(auto& out, ConstOr<SentEntry> auto& entry)
{
    out.is("SentEntry", "An entry of a folder. Links are not followed.");
    out.name("name", entry.name);
    out.word("type", entry.type, kTypes);
}

void describe(auto& out, ConstOr<SentResult> auto& result)
{
    out.is("FileResult", "What became of a call: an error, or what was asked for.");
    out.present("error", result.isError, [&] {
        if constexpr (kReads<decltype(out)>)
            result.isError = true;
        out.field("error", result.error);
    });
    out.present("info", result.hasInfo, [&] { out.field("info", result.info, "of `stat` and `open`"); });
    out.present("entries", result.hasEntries, [&] {
        out.list(
            "entries", result.entries, [](auto& row, auto& entry) { describe(row, entry); },
            "of `list`, in the order of their bytes");
    });
    out.present("path", !result.path.empty(), [&] { out.name("path", result.path, "of `canonical`"); });
    out.present("free_bytes", result.hasSpace, [&] {
        out.field("free_bytes", result.space.freeBytes, "of `space`");
        out.field("free_files", result.space.freeFiles);
    });
    out.present("bytes", result.bytes != 0,
        [&] { out.field("bytes", result.bytes, "of `read` and `small`: how many of the data are its"); });
}

void describe(auto& out, ConstOr<Results> auto& sent)
{
    out.is("ServeFileResults", "The payload that ends a request `files`: one result for each call.");
    out.list("results", sent.results, [](auto& row, auto& result) { describe(row, result); });
}

namespace {

Error errorOf(const SentError& sent)
{
    // Codes are in the order of their enum, from Usage to Internal.
    for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i) {
        const auto code = static_cast<ErrorCode>(i);
        // A stop is this end's to decide.
        if (errorCodeName(code) == sent.code && code != ErrorCode::Cancelled)
            return {code, sent.message, sent.path, sent.hint};
    }
    return {ErrorCode::Unreadable, sent.message, sent.path, sent.hint};
}

bool isOnePart(const std::string& name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos
        && name.find('\0') == std::string::npos;
}

/// What is wrong with a result that a stranger may have made.
std::string problemOf(const SentResult& result, const FileCall& call)
{
    if (result.isError)
        return result.bytes == 0 ? "" : "a call failed and has data";
    if (result.bytes > call.bytes || (call.call == call::kRead && result.bytes != call.bytes))
        return "a call has other data than was asked for";
    if (result.info.identity.bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return "a file is larger than files can be";
    if (!std::ranges::all_of(result.entries, isOnePart, &SentEntry::name))
        return "an entry of a folder has a name that is none";
    if (call.call == call::kCanonical
        && (!result.path.starts_with('/') || result.path.find('\0') != std::string::npos))
        return "a path is not absolute";
    return {};
}

SentResult sentOf(const FileCall& call, const FileResult& result)
{
    SentResult out;
    if (result.error) {
        out.isError = true;
        out.error = {std::string(errorCodeName(result.error->code)), result.error->message,
            result.error->path, result.error->hint.text, result.isOutage};
        return out;
    }
    out.hasInfo = call.call == call::kStat || call.call == call::kOpen;
    out.hasEntries = call.call == call::kList;
    out.hasSpace = call.call == call::kSpace;
    out.info = {typeWord(result.info.type), result.info.mode, result.info.identity};
    for (const io::DirectoryEntry& entry : result.entries)
        out.entries.push_back({entry.name, typeWord(entry.type)});
    out.path = result.path;
    out.space = result.space;
    out.bytes = result.bytes;
    return out;
}

FileResult resultOf(SentResult sent)
{
    FileResult out;
    if (sent.isError) {
        out.error = errorOf(sent.error);
        out.isOutage = sent.error.isOutage;
        return out;
    }
    out.info = {typeOf(sent.info.type), sent.info.identity, sent.info.mode};
    for (SentEntry& entry : sent.entries)
        out.entries.push_back({std::move(entry.name), typeOf(entry.type)});
    out.path = std::move(sent.path);
    out.space = sent.space;
    out.bytes = sent.bytes;
    return out;
}

} // namespace

std::string fileCallsText(std::span<const FileCall> calls)
{
    return messageText(Calls{{calls.begin(), calls.end()}});
}

Result<std::vector<FileCall>> parseFileCalls(std::string_view text)
{
    Calls out;
    if (const std::string problem = readMessage(text, out); !problem.empty())
        return fail(ErrorCode::Damaged, "calls on files cannot be used: " + problem);
    std::optional<uint64_t> bytes = 0;
    for (const FileCall& call : out.calls)
        bytes = bytes ? checkedAdd(*bytes, call.bytes) : bytes;
    if (out.calls.size() > kCallsLimit || !bytes || *bytes > kCalledBytesLimit)
        return fail(
            ErrorCode::LimitExceeded, "a request has too many calls on files, or asks for too many bytes");
    return std::move(out.calls);
}

std::string fileResultsText(std::span<const FileCall> calls, std::span<const FileResult> results)
{
    Results out;
    for (size_t i = 0; i < results.size(); ++i)
        out.results.push_back(sentOf(calls[i], results[i]));
    return messageText(out);
}

Result<std::vector<FileResult>> parseFileResults(std::string_view text, std::span<const FileCall> calls)
{
    Results sent;
    const bool lists
        = std::ranges::any_of(calls, [](const FileCall& each) { return each.call == call::kList; });
    std::string problem = text.size() > (lists ? kListLimit : kResultLimit * (calls.size() + 1))
        ? "it is too large"
        : readMessage(text, sent);
    if (problem.empty() && sent.results.size() != calls.size())
        problem = "it has another number of results";
    std::vector<FileResult> out;
    for (size_t i = 0; problem.empty() && i < calls.size(); ++i) {
        problem = problemOf(sent.results[i], calls[i]);
        out.push_back(resultOf(std::move(sent.results[i])));
    }
    if (!problem.empty())
        return fail(ErrorCode::Hostile, "the answer about files cannot be used: " + problem);
    return out;
}

Error parseError(std::string_view text)
{
    SentError sent;
    const JsonNode root = JsonNode::parse(text);
    sent.code = root.at("code").text().value_or("");
    sent.message = root.at("message").text().value_or("");
    sent.path = root.at("path").text().value_or("");
    sent.hint = root.at("hint").text().value_or("");
    if (sent.message.empty())
        return {ErrorCode::Damaged, "the other end reports an error that cannot be read", {}, {}};
    return errorOf(sent);
}

std::string fileCallsSchema()
{
    return schemaOf("serve-files", [](SchemaOut& out) {
        const Calls calls;
        describe(out, calls);
    });
}

std::string fileResultsSchema()
{
    return schemaOf("serve-file-results", [](SchemaOut& out) {
        const Results results;
        describe(out, results);
    });
}

} // namespace serve
} // namespace shardscope
