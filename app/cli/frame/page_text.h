// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/text/text_table.h"

#include <string_view>

namespace shardscope::cli {

/// A page of the manual, which is Markdown, for a terminal: headings are bold, paragraphs, lists and the
/// cells of tables wrap at `width` columns, links are their text, pictures are left out. Code keeps its
/// lines.
void writePage(const TextSink& sink, const TextStyle& style, std::string_view markdown, size_t width);

} // namespace shardscope::cli
