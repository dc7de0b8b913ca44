// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::ui {

/// How well `text` matches the pattern; higher is better, negative is no match. Both in lower case.
///
/// Words of the pattern must all fit. A word fits best as a part of the text, better at the beginning of one
/// of its words; otherwise its letters must come in order ("l0wq" fits "layers.0.attention.wq"). Short texts
/// win over long ones. Cost is linear in the text.
int fuzzyScore(std::string_view pattern, std::string_view text);

/// The bytes of the text that the pattern's letters are, ascending, for a text that matches.
std::vector<size_t> fuzzyLetters(std::string_view pattern, std::string_view text);
/// What fuzzyScore() gives at least where every one of this many words is a part of the text.
int fuzzyPartScore(size_t words);

} // namespace shardscope::ui
