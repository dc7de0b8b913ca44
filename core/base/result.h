// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/base: what every other room needs: Result and Error, Finding, JobContext, text, checked
// arithmetic. Start with Result; code of core returns it and does not throw.

#include "core/base/error.h"

#include <tl/expected.hpp>

#include <utility>

namespace shardscope {

/// A value or an Error. Public functions of core report failure this way and do not throw.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error>
{
public:
    using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(
    ErrorCode code, std::string message, std::string path = {}, Hint hint = {})
{
    return tl::unexpected<Error>(Error{code, std::move(message), std::move(path), std::move(hint)});
}

[[nodiscard]] inline tl::unexpected<Error> forward(Error error)
{
    return tl::unexpected<Error>(std::move(error));
}

} // namespace shardscope

#define SHARDSCOPE_JOIN_(a, b) a##b
#define SHARDSCOPE_JOIN(a, b) SHARDSCOPE_JOIN_(a, b)

#define SHARDSCOPE_TRY_(name, declaration, expression)                                                       \
    auto name = (expression);                                                                                \
    if (!name)                                                                                               \
        return ::shardscope::forward(std::move(name).error());                                               \
    declaration = std::move(*name)
/// `SHARDSCOPE_TRY(auto file, openFile(path));` declares `file` or returns the error to the caller.
#define SHARDSCOPE_TRY(declaration, expression)                                                              \
    SHARDSCOPE_TRY_(SHARDSCOPE_JOIN(tryResult, __COUNTER__), declaration, expression)

#define SHARDSCOPE_CHECK_(name, expression)                                                                  \
    do {                                                                                                     \
        if (auto name = (expression); !name)                                                                 \
            return ::shardscope::forward(std::move(name).error());                                           \
    } while (false)
/// `SHARDSCOPE_CHECK(file->sync());` returns the error to the caller, if there is one.
#define SHARDSCOPE_CHECK(expression) SHARDSCOPE_CHECK_(SHARDSCOPE_JOIN(checkResult, __COUNTER__), expression)
