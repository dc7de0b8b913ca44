// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/boxes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::serve {

/// The version of frames and messages. It changes only when an old client would misunderstand a new server.
inline constexpr uint32_t kProtocol = 1;

/// What a request asks for. Words are those of the command line, each ended by a zero byte.
namespace ask {
inline constexpr std::string_view kAnswer = "answer"; ///< payload: words of a command that only reads
inline constexpr std::string_view kRaw
    = "raw"; ///< payload: words of `diff` or `stats`; all that it found, for a client of this version
inline constexpr std::string_view kJob = "job"; ///< payload: words of a command that writes, or of `jobs`
inline constexpr std::string_view kOpen = "open"; ///< payload: words of `params`; holds the checkpoint
inline constexpr std::string_view kPlan = "plan"; ///< payload: a saved plan; holds it, planned again
inline constexpr std::string_view kEmit = "emit"; ///< `of` a plan: the bytes of `file`
inline constexpr std::string_view kCombine = "combine"; ///< `of` a plan; payload: answers of kEmit
inline constexpr std::string_view kElements = "elements"; ///< `of` a checkpoint or plan: those of a box
inline constexpr std::string_view kFiles = "files"; ///< payload: calls on files (file_calls.h)
inline constexpr std::string_view kAlive
    = "alive"; ///< from now on kAlive replies, as long as the input lasts
inline constexpr std::string_view kClose = "close"; ///< `of` what is held: holds it no longer
inline constexpr std::string_view kCancel = "cancel"; ///< `of` a request: ends it with the error `cancelled`
} // namespace ask
inline constexpr std::array kAsked{ask::kAnswer, ask::kRaw, ask::kJob, ask::kOpen, ask::kPlan, ask::kEmit,
    ask::kCombine, ask::kElements, ask::kFiles, ask::kAlive, ask::kClose, ask::kCancel};

/// The header of a frame to the server.
struct Request {
    uint64_t id = 0; ///< chosen by the client, not 0, of no other request under way
    std::string ask;
    uint64_t of = 0; ///< the id of another request; 0: none
    std::string file = {}; ///< a planned file, relative to the plan's target
    std::string address = {}; ///< a parameter and state of a checkpoint, as `show` takes it
    Box box = {}; ///< of the tensor; without dimensions: all of it
    uint32_t to = 0; ///< of kEmit: an open descriptor of the server, in place of data frames; 0: none
    bool digest = false; ///< the answer of kEmit has what kCombine needs
    bool text = false; ///< of kAnswer and kJob: an answer for people, with kMessage replies
    bool pack = false; ///< of kAlive: from now on payloads of replies may be packed
    std::string host = {}; ///< with `text`: how the client calls this host, for commands to run next
    uint64_t unpacked = 0; ///< the payload is packed (packing.h), and has so many bytes; 0: it is as it is
};

/// What a reply brings.
namespace reply {
inline constexpr std::string_view kHello = "hello"; ///< the first frame, before any request
inline constexpr std::string_view kData = "data"; ///< payload: the next bytes of the answer, file or box
inline constexpr std::string_view kFile
    = "file"; ///< payload: the next bytes of a file that was asked for as `-`
inline constexpr std::string_view kMessage = "message"; ///< payload: lines for people, as on standard error
inline constexpr std::string_view kAlive = "alive"; ///< of no request: the server is still there
inline constexpr std::string_view kProgress = "progress"; ///< payload: as a line of `--progress json`
inline constexpr std::string_view kDone
    = "done"; ///< the last frame; payload: the answer of kEmit, kCombine and kFiles
inline constexpr std::string_view kError
    = "error"; ///< the last frame; payload: the object that --json prints
} // namespace reply
inline constexpr std::array kReplied{reply::kHello, reply::kData, reply::kFile, reply::kMessage,
    reply::kAlive, reply::kProgress, reply::kDone, reply::kError};

/// The header of a frame from the server.
struct Reply {
    uint64_t id = 0; ///< of the request; 0: of none
    std::string reply;
    uint32_t protocol = 0; ///< of kHello
    std::string version = {}; ///< of kHello: of the program
    std::optional<int> exit = {}; ///< of kDone and kError: the exit status that the command would have
    std::string dtype = {}; ///< of kDone after kElements
    uint64_t unpacked = 0; ///< the payload is packed (packing.h), and has so many bytes; 0: it is as it is
};

std::string requestText(const Request& request);
std::string replyText(const Reply& reply);
std::string requestSchema();
std::string replySchema();
/// Damaged if the text is no such message.
Result<Request> parseRequest(std::string_view text);
Result<Reply> parseReply(std::string_view text);

/// Words in a payload, each ended by a zero byte.
std::string wordsPayload(const std::vector<std::string>& words);
/// Damaged if the last one is not ended.
Result<std::vector<std::string>> parseWords(std::string_view payload);

} // namespace shardscope::serve
