// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <string_view>

namespace shardscope::ui {

/// Public reports, as Diagnosis::threads lists them ("DS#2319, owner/repo#7, reproduced with 0.19.8"), as
/// HTML with a link for each that names a thread of GitHub; other words stay text. `colour`: of links.
QString threadLinks(std::string_view threads, const QString& colour);
/// The address of one; empty if it names none.
QString threadAddress(const QString& thread);

} // namespace shardscope::ui
