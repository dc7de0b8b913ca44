// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace shardscope::test {

/// What is wrong with a document, one line each with its place ("/files/3/bytes: …"); empty when it is valid.
///
/// Knows the part of JSON Schema that core/describe uses: type, properties, required, items, enum, const,
/// additionalProperties (a schema), oneOf, minimum, maximum and $ref into $defs. A keyword that it does not
/// know is an error, so that no rule is skipped silently. With `closed` an object may only have the
/// properties that are described.
std::vector<std::string> schemaErrors(
    const nlohmann::json& schema, const nlohmann::json& document, bool closed);

} // namespace shardscope::test
