// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/style: colours, icons, stored settings and the application's QStyle. Start with Theme; code names
// roles, not colours.

#include "core/layout/map_query.h"

#include <QColor>
#include <QObject>
#include <QPalette>

#include <array>

namespace shardscope::ui {

/// What a colour is for. Code uses roles, never colours; values are in resources/themes/*.json.
enum class ThemeRole : uint8_t {
    Window, ///< behind everything
    Surface, ///< cards, tables, lists
    SurfaceAlternate, ///< every second row, headers
    Hover, ///< the row or button under the pointer
    Border,
    Text,
    MutedText,
    Accent, ///< selection, focus, links
    AccentText, ///< text on Accent
    ShareBar, ///< size bars behind text
    Success,
    Warning,
    Error,
    Info,
    SuccessTint, ///< backgrounds of message bars
    WarningTint,
    ErrorTint,
    InfoTint,
    MapBackground, ///< behind and between the map's rows
    MapGrid,
    Padding,
    PaddingHatch,
    PaddingOutline, ///< dotted border of padding that is in no file
    Missing, ///< cross-hatch of shards that are not there
    Count
};

enum class ThemeMode : uint8_t { System, Light, Dark, HighContrast };

/// The application's colours, from a file in resources/themes.
///
/// In System mode it follows the desktop's palette and sets only the colour of hints; the other modes install
/// a palette of their own. One per process, made after QApplication and before any widget; GUI thread only
/// (worker threads get copies of the colours they need).
class Theme : public QObject
{
    Q_OBJECT
public:
    static constexpr int kHues = 12;
    static constexpr int kSequence = 5;

    explicit Theme(QObject* parent = nullptr);

    [[nodiscard]] QColor colour(ThemeRole role) const { return m_colours[static_cast<size_t>(role)]; }
    [[nodiscard]] QColor classColour(ParamClass value) const { return m_classes[static_cast<size_t>(value)]; }
    /// Twelve hues that stay apart with the common colour-vision deficiencies; `index` is taken modulo 12.
    [[nodiscard]] QColor hue(size_t index) const { return m_hues[index % kHues]; }
    /// Ordered values, low to high; `index` is 0 to 4.
    [[nodiscard]] QColor sequence(size_t index) const { return m_sequence[index % kSequence]; }
    [[nodiscard]] bool isDark() const { return m_dark; }

    [[nodiscard]] ThemeMode mode() const { return m_mode; }
    void setMode(ThemeMode mode);

    /// Role names as the theme files spell them: "window", "muted-text", …
    static QString roleName(ThemeRole role);

Q_SIGNALS:
    /// Any colour may be another one now.
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void followPalette();
    void load(ThemeMode mode);
    void takeSystemColours(const QPalette& palette);
    [[nodiscard]] QPalette ownPalette() const;

    ThemeMode m_mode = ThemeMode::System;
    bool m_dark = false;
    bool m_applying = false;
    std::array<QColor, static_cast<size_t>(ThemeRole::Count)> m_colours;
    std::array<QColor, 8> m_classes; ///< by ParamClass
    std::array<QColor, kHues> m_hues;
    std::array<QColor, kSequence> m_sequence;
};

} // namespace shardscope::ui
