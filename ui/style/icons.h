// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QIcon>

namespace shardscope::ui {

/// A symbolic icon of resources/icons, drawn in the theme's colour at any requested size and pixel
/// ratio; it follows theme changes by itself. `role` is its colour; the theme must outlive the icon.
QIcon themedIcon(const Theme& theme, const QString& name, ThemeRole role = ThemeRole::Text);

} // namespace shardscope::ui
