// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardscope {

/// A value to write, or one to read into.
template <class T, class Value>
concept Wired = std::same_as<std::remove_const_t<T>, Value>;

template <class T>
inline constexpr bool isWireList = false;
template <class T>
inline constexpr bool isWireList<std::vector<T>> = true;
template <class T>
inline constexpr bool isWireArray = false;
template <class T, size_t N>
inline constexpr bool isWireArray<std::array<T, N>> = true;
template <class T>
inline constexpr bool isWirePair = false;
template <class A, class B>
inline constexpr bool isWirePair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool isWireOptional = false;
template <class T>
inline constexpr bool isWireOptional<std::optional<T>> = true;

/// Values as bytes, between processes of one version. A type is described once for both directions, as
/// `io` writes (WireWriter) or reads (WireReader):
///
///     void wire(auto& io, Wired<DiffCause> auto& cause)
///     {
///         io(cause.code, cause.message);
///         io.word(cause.side, DiffSide::Right);
///         io.list(cause.evidence, kMostEvidence);
///     }
///
/// `io(...)` takes integers, bool, texts, described types, lists, arrays, pairs and optional values of them,
/// and the bytes of what else is trivially copyable: all processes run the same program.
template <class Io>
class WireFields
{
public:
    template <class... Values>
    void operator()(Values&&... values)
    {
        (one(values), ...);
    }
    /// An enum, up to its last value.
    template <class Enum>
    void word(Enum& value, std::remove_const_t<Enum> last)
    {
        auto number = static_cast<uint64_t>(value);
        one(number);
        if constexpr (Io::kReads) {
            self().require(number <= static_cast<uint64_t>(last));
            value = self().isGood() ? static_cast<Enum>(number) : Enum{};
        }
    }
    /// `each` gets every entry; every entry takes at least one byte. What has more than `most` is not read.
    template <class List, class Each>
    void list(List& values, uint64_t most, const Each& each)
    {
        uint64_t count = values.size();
        one(count);
        if constexpr (Io::kReads) {
            values.clear();
            self().require(count <= most && count <= self().rest());
        }
        for (uint64_t i = 0; i < count && self().isGood(); ++i) {
            if constexpr (Io::kReads)
                each(values.emplace_back());
            else
                each(values[i]);
        }
    }
    template <class List>
    void list(List& values, uint64_t most = std::numeric_limits<uint64_t>::max())
    {
        list(values, most, [this](auto& value) { one(value); });
    }

private:
    Io& self() { return static_cast<Io&>(*this); }

    template <class Value>
    void one(Value& value)
    {
        using T = std::remove_const_t<Value>;
        if constexpr (requires { wire(self(), value); }) {
            wire(self(), value);
        } else if constexpr (std::integral<T>) {
            if constexpr (Io::kReads) {
                const uint64_t number = self().number();
                self().require(static_cast<uint64_t>(static_cast<T>(number)) == number);
                value = self().isGood() ? static_cast<T>(number) : T{};
            } else {
                self().number(static_cast<uint64_t>(value));
            }
        } else if constexpr (std::convertible_to<T, std::string_view>) {
            if constexpr (Io::kReads) {
                std::string& text = value;
                text = self().text();
            } else {
                self().text(value);
            }
        } else if constexpr (isWireList<T>) {
            list(value);
        } else if constexpr (isWireArray<T>) {
            for (auto& each : value)
                one(each);
        } else if constexpr (isWirePair<T>) {
            one(value.first);
            one(value.second);
        } else if constexpr (isWireOptional<T>) {
            bool isThere = value.has_value();
            one(isThere);
            if constexpr (Io::kReads)
                value = isThere ? T(std::in_place) : T();
            if (isThere)
                one(*value);
        } else {
            static_assert(std::is_trivially_copyable_v<T> && !std::is_enum_v<T> && !std::is_pointer_v<T>);
            plain(value);
        }
    }
    template <class Value>
    void plain(Value& value)
    {
        if constexpr (Io::kReads) {
            const std::string bytes = self().text();
            self().require(bytes.size() == sizeof(value));
            if (self().isGood())
                std::memcpy(&value, bytes.data(), sizeof(value));
        } else {
            self().text({reinterpret_cast<const char*>(&value), sizeof(value)});
        }
    }
};

class WireWriter : public WireFields<WireWriter>
{
public:
    static constexpr bool kReads = false;

    void number(uint64_t value); ///< 1 to 10 bytes (LEB128)
    void text(std::string_view value);
    void require(bool /*isGood*/) { }
    [[nodiscard]] bool isGood() const { return true; }
    [[nodiscard]] std::string take() { return std::move(m_bytes); }

private:
    std::string m_bytes;
};

/// After the end, or after what cannot have been written, isGood() is false, and no value means anything.
class WireReader : public WireFields<WireReader>
{
public:
    static constexpr bool kReads = true;

    explicit WireReader(std::string_view bytes)
        : m_rest(bytes)
    {
    }

    uint64_t number();
    std::string text();
    /// For values that the caller finds wrong.
    void require(bool isGood) { m_isGood = m_isGood && isGood; }
    [[nodiscard]] bool isGood() const { return m_isGood; }
    [[nodiscard]] uint64_t rest() const { return m_rest.size(); }

private:
    std::string_view m_rest;
    bool m_isGood = true;
};

template <class Io, Wired<Error> Value>
void wire(Io& io, Value& error);
template <class Io, Wired<Status> Value>
void wire(Io& io, Value& status);

template <class Value>
std::string toWire(const Value& value)
{
    WireWriter out;
    out(value);
    return out.take();
}

/// Whether `bytes` are such a value and nothing else.
template <class Value>
bool fromWire(std::string_view bytes, Value& value)
{
    WireReader in(bytes);
    in(value);
    return in.isGood() && in.rest() == 0;
}

} // namespace shardscope
