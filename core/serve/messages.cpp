// SPDX-License-Identifier: Apache-2.0
#include "core/serve/messages.h"

#include "core/describe/schema_out.h"
#include "core/serve/message_json.h"

namespace shardscope::serve {

constexpr const char* kUnpackedMeans = "the payload is the next part of this direction's stream of Zstandard "
                                       "(RFC 8878), and gives so many bytes";

void describe(auto& out, ConstOr<Request> auto& request)
{
    out.is("ServeRequest", "What a client asks `shardscope serve` for: the header of a frame.");
    out.field("id", request.id, atLeast(1, "chosen by the client; of no other request under way"));
    out.word("ask", request.ask, kAsked, "what is asked for");
    out.present("of", request.of != 0,
        [&] { out.field("of", request.of, atLeast(1, "the id of the request that this one is about")); });
    out.present("file", !request.file.empty(),
        [&] { out.name("file", request.file, "a planned file, relative to the plan's target"); });
    out.present("address", !request.address.empty(),
        [&] { out.name("address", request.address, "of a checkpoint: NAME or NAME#STATE"); });
    out.present("sizes", !request.box.sizes.empty(), [&] {
        out.field(
            "offsets", request.box.offsets, "of a box in the tensor: its first index in each dimension");
        out.field("sizes", request.box.sizes, "of the box: the number of indices; absent for all elements");
    });
    out.present("to", request.to != 0, [&] {
        out.field("to", request.to,
            "of `emit`: the number of a descriptor that the server inherited; absent for data frames");
    });
    out.present("digest", request.digest,
        [&] { out.field("digest", request.digest, "of `emit`: add what `combine` needs"); });
    out.present("text", request.text,
        [&] { out.field("text", request.text, "of `answer` and `job`: as text, with `message` replies"); });
    out.present("pack", request.pack,
        [&] { out.field("pack", request.pack, "of `alive`: payloads of replies may be packed"); });
    out.present("host", !request.host.empty(), [&] {
        out.field("host", request.host,
            "with `text`: the client's name for this host, for the command to run next");
    });
    out.present(
        "unpacked", request.unpacked != 0, [&] { out.field("unpacked", request.unpacked, kUnpackedMeans); });
}

void describe(auto& out, ConstOr<Reply> auto& reply)
{
    out.is("ServeReply", "What `shardscope serve` replies: the header of a frame.");
    out.field("id", reply.id, "of the request; 0: of none");
    out.word("reply", reply.reply, kReplied, "what the frame brings");
    out.present("protocol", reply.protocol != 0, [&] {
        out.field("protocol", reply.protocol, "with hello: the version of frames and messages");
        out.field("version", reply.version, "with hello: of the program");
    });
    out.present("exit", reply.exit.has_value(),
        [&] { out.field("exit", reply.exit, "at the end: the exit status that the command would have"); });
    out.present("dtype", !reply.dtype.empty(),
        [&] { out.field("dtype", reply.dtype, "after elements: how they are stored, little-endian"); });
    out.present(
        "unpacked", reply.unpacked != 0, [&] { out.field("unpacked", reply.unpacked, kUnpackedMeans); });
}

namespace {

template <class Message>
Result<Message> parseMessage(std::string_view text, const char* what)
{
    Message out;
    const std::string problem = readMessage(text, out);
    if (problem.empty())
        return out;
    return fail(ErrorCode::Damaged, std::string("the header of a ") + what + " cannot be used: " + problem);
}

} // namespace

std::string requestText(const Request& request)
{
    return messageText(request);
}

std::string replyText(const Reply& reply)
{
    return messageText(reply);
}

std::string requestSchema()
{
    return schemaOf("serve-request", [](SchemaOut& out) {
        const Request request;
        describe(out, request);
    });
}

std::string replySchema()
{
    return schemaOf("serve-reply", [](SchemaOut& out) {
        const Reply reply;
        describe(out, reply);
    });
}

Result<Request> parseRequest(std::string_view text)
{
    SHARDSCOPE_TRY(Request out, parseMessage<Request>(text, "request"));
    if (out.box.sizes.empty() && JsonNode::parse(text).at("offsets"))
        return fail(ErrorCode::Damaged, "the header of a request cannot be used: offsets without sizes");
    if (out.id == 0)
        return fail(ErrorCode::Damaged, "the header of a request cannot be used: its id is 0");
    return out;
}

Result<Reply> parseReply(std::string_view text)
{
    return parseMessage<Reply>(text, "reply");
}

std::string wordsPayload(const std::vector<std::string>& words)
{
    std::string out;
    for (const std::string& word : words)
        out.append(word).push_back('\0');
    return out;
}

Result<std::vector<std::string>> parseWords(std::string_view payload)
{
    std::vector<std::string> out;
    while (!payload.empty()) {
        const size_t end = payload.find('\0');
        if (end == std::string_view::npos)
            return fail(ErrorCode::Damaged, "the last word of a request is not ended by a zero byte");
        out.emplace_back(payload.substr(0, end));
        payload.remove_prefix(end + 1);
    }
    return out;
}

} // namespace shardscope::serve
