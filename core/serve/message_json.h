// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_in.h"
#include "core/describe/json_out.h"

#include <string>
#include <string_view>

namespace shardscope::serve {

/// A described message as a JSON object.
template <class Message>
std::string messageText(const Message& message)
{
    std::string out;
    writeObject([&](std::string_view text) { out += text; }, [&](JsonOut& json) { describe(json, message); });
    return out;
}

/// Reads one. What is wrong with the text; empty: nothing.
template <class Message>
std::string readMessage(std::string_view text, Message& out)
{
    const JsonNode root = JsonNode::parse(text);
    std::string problem = root.isObject() ? "" : "it is no JSON object";
    if (problem.empty()) {
        JsonIn in(root, problem);
        describe(in, out);
    }
    return problem;
}

} // namespace shardscope::serve
