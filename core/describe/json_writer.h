// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Takes pieces of an answer in order. Answers can be large (a line per fragment), so they are never built
/// in memory as a whole.
using TextSink = std::function<void(std::string_view)>;

/// Writes one JSON value piece by piece, on one line, with the rules of cli.md: integers stay exact, NaN and
/// infinities are the strings "nan", "inf", "-inf", bytes that are not UTF-8 become U+FFFD.
///
/// Fields appear in the order they are written. The caller must nest calls properly. Buffers a few KiB;
/// finish() or the destructor flushes the rest. Not thread-safe.
class JsonWriter
{
public:
    explicit JsonWriter(TextSink sink);
    ~JsonWriter();
    JsonWriter(const JsonWriter&) = delete;
    JsonWriter& operator=(const JsonWriter&) = delete;

    void beginObject();
    void endObject();
    void beginArray();
    void endArray();
    void key(std::string_view name);

    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(const std::string& text) { value(std::string_view(text)); }
    void value(double number);
    void value(bool yes);
    template <std::integral T>
    void value(T number)
    {
        if constexpr (std::signed_integral<T>)
            signedNumber(static_cast<int64_t>(number));
        else
            unsignedNumber(static_cast<uint64_t>(number));
    }
    template <class T>
    void value(const std::optional<T>& maybe)
    {
        if (maybe)
            value(*maybe);
        else
            null();
    }
    void null();

    template <class T>
    void field(std::string_view name, const T& what)
    {
        key(name);
        value(what);
    }
    void nullField(std::string_view name);
    void objectField(std::string_view name);
    void arrayField(std::string_view name);
    /// A name from a file. If it is not UTF-8, a field NAME_hex with its bytes follows.
    void nameField(std::string_view name, std::string_view raw);
    /// The text, or null when it is empty.
    void textOrNull(std::string_view name, std::string_view text);
    void textList(std::string_view name, const std::vector<std::string>& texts);
    /// A complete JSON value, written unchanged.
    void rawField(std::string_view name, std::string_view json);

    void finish();

private:
    void separate();
    void open(char bracket);
    void close(char bracket);
    void put(std::string_view text);
    void quoted(std::string_view text);
    void signedNumber(int64_t number);
    void unsignedNumber(uint64_t number);

    TextSink m_sink;
    std::string m_buffer;
    std::vector<bool> m_filled; ///< per open bracket: it already has content
    bool m_afterKey = false;
};

/// The output of `write` as one string, for small answers.
std::string jsonText(const std::function<void(JsonWriter&)>& write);

} // namespace shardscope
