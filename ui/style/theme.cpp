// SPDX-License-Identifier: Apache-2.0
#include "ui/style/theme.h"

#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr std::array kRoleNames = {"window"_L1, "surface"_L1, "surface-alternate"_L1, "hover"_L1, "border"_L1,
    "text"_L1, "muted-text"_L1, "accent"_L1, "accent-text"_L1, "share-bar"_L1, "success"_L1, "warning"_L1,
    "error"_L1, "info"_L1, "success-tint"_L1, "warning-tint"_L1, "error-tint"_L1, "info-tint"_L1,
    "map-background"_L1, "map-grid"_L1, "padding"_L1, "padding-hatch"_L1, "padding-outline"_L1, "missing"_L1};
static_assert(kRoleNames.size() == static_cast<size_t>(ThemeRole::Count));

bool isDarkPalette(const QPalette& palette)
{
    return palette.color(QPalette::WindowText).lightness() > palette.color(QPalette::Window).lightness();
}

constexpr double kReadable = 4.5; ///< contrast of text, WCAG 2.1, 1.4.3

double luminance(const QColor& colour)
{
    const auto linear
        = [](double part) { return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF())
        + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b)
{
    const double first = luminance(a) + 0.05;
    const double second = luminance(b) + 0.05;
    return std::max(first, second) / std::min(first, second);
}

QColor mixed(const QColor& text, const QColor& ground, double share)
{
    const auto part = [&](float from, float to) { return static_cast<float>(from + (to - from) * share); };
    return QColor::fromRgbF(part(ground.redF(), text.redF()), part(ground.greenF(), text.greenF()),
        part(ground.blueF(), text.blueF()));
}

/// The faintest colour between a ground and a text that can still be read on all of these grounds.
QColor faintest(const QColor& text, const std::vector<QColor>& grounds)
{
    for (int percent = 40; percent < 100; percent += 2) {
        const QColor colour = mixed(text, grounds.front(), percent / 100.0);
        if (std::all_of(grounds.begin(), grounds.end(),
                [&](const QColor& ground) { return contrast(colour, ground) >= kReadable + 0.05; }))
            return colour;
    }
    return text;
}

/// Black or white, whichever can be read on a ground.
QColor legible(const QColor& ground)
{
    return contrast(Qt::black, ground) > contrast(Qt::white, ground) ? Qt::black : Qt::white;
}

template <size_t N>
void readColours(const QJsonValue& value, std::array<QColor, N>& out)
{
    const QJsonArray colours = value.toArray();
    for (size_t i = 0; i < N; ++i)
        out[i] = QColor(colours.at(static_cast<qsizetype>(i)).toString());
}

} // namespace

Theme::Theme(QObject* parent)
    : QObject(parent)
{
    qApp->installEventFilter(this);
    followPalette();
}

QString Theme::roleName(ThemeRole role)
{
    return kRoleNames[static_cast<size_t>(role)];
}

void Theme::setMode(ThemeMode mode)
{
    if (mode == m_mode)
        return;
    m_mode = mode;
    m_applying = true;
    if (mode == ThemeMode::System) {
        QApplication::setPalette(QPalette());
        m_applying = false;
        followPalette();
    } else {
        load(mode);
        QApplication::setPalette(ownPalette());
        m_applying = false;
    }
    Q_EMIT changed();
}

bool Theme::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::ApplicationPaletteChange && watched == qApp && !m_applying
        && m_mode == ThemeMode::System) {
        followPalette();
        Q_EMIT changed();
    }
    return QObject::eventFilter(watched, event);
}

void Theme::followPalette()
{
    const QPalette palette = QApplication::palette();
    load(isDarkPalette(palette) ? ThemeMode::Dark : ThemeMode::Light);
    takeSystemColours(palette);
}

void Theme::load(ThemeMode mode)
{
    m_dark = mode != ThemeMode::Light;
    QFile file(mode == ThemeMode::HighContrast ? u":/themes/high-contrast.json"_s
            : mode == ThemeMode::Dark          ? u":/themes/dark.json"_s
                                               : u":/themes/light.json"_s);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("the theme file %s is not built in", qPrintable(file.fileName()));
    const QJsonObject root = QJsonDocument::fromJson(file.readAll()).object();
    const QJsonObject roles = root.value("roles"_L1).toObject();
    for (size_t i = 0; i < kRoleNames.size(); ++i)
        m_colours[i] = QColor(roles.value(kRoleNames[i]).toString());
    const QJsonObject classes = root.value("classes"_L1).toObject();
    for (size_t i = 0; i < m_classes.size(); ++i) {
        const std::string_view name = paramClassName(static_cast<ParamClass>(i));
        m_classes[i] = QColor(
            classes.value(QLatin1StringView(name.data(), static_cast<qsizetype>(name.size()))).toString());
    }
    readColours(root.value("hues"_L1), m_hues);
    readColours(root.value("sequence"_L1), m_sequence);
}

void Theme::takeSystemColours(const QPalette& palette)
{
    const auto set = [&](ThemeRole role, QPalette::ColorRole from) {
        m_colours[static_cast<size_t>(role)] = palette.color(QPalette::Active, from);
    };
    set(ThemeRole::Window, QPalette::Window);
    set(ThemeRole::Surface, QPalette::Base);
    set(ThemeRole::SurfaceAlternate, QPalette::AlternateBase);
    set(ThemeRole::Text, QPalette::WindowText);
    // Qt's own hints are text at half strength, which is too faint to read.
    const QColor hint = faintest(palette.color(QPalette::WindowText),
        {palette.color(QPalette::Window), palette.color(QPalette::Base),
            palette.color(QPalette::AlternateBase), palette.color(QPalette::Button)});
    m_colours[static_cast<size_t>(ThemeRole::MutedText)] = hint;
    QPalette hints = palette; // the other colours stay the desktop's
    hints.setColor(QPalette::PlaceholderText, hint);
    if (palette.color(QPalette::Active, QPalette::Link) == QColor(Qt::blue)) { // Qt's own, not the desktop's
        hints.setColor(QPalette::Link, colour(ThemeRole::Accent));
        hints.setColor(QPalette::LinkVisited, colour(ThemeRole::Accent));
    }
    m_applying = true;
    QApplication::setPalette(hints);
    m_applying = false;
}

QPalette Theme::ownPalette() const
{
    QPalette palette;
    const auto set = [&](QPalette::ColorRole role, ThemeRole from) { palette.setColor(role, colour(from)); };
    set(QPalette::Window, ThemeRole::Window);
    set(QPalette::WindowText, ThemeRole::Text);
    set(QPalette::Base, ThemeRole::Surface);
    set(QPalette::AlternateBase, ThemeRole::SurfaceAlternate);
    set(QPalette::Text, ThemeRole::Text);
    set(QPalette::Button, ThemeRole::Hover);
    set(QPalette::ButtonText, ThemeRole::Text);
    set(QPalette::BrightText, ThemeRole::Error);
    set(QPalette::ToolTipBase, ThemeRole::Surface);
    set(QPalette::ToolTipText, ThemeRole::Text);
    set(QPalette::PlaceholderText, ThemeRole::MutedText);
    set(QPalette::Highlight, ThemeRole::Accent);
    set(QPalette::HighlightedText, ThemeRole::AccentText);
    set(QPalette::Link, ThemeRole::Accent);
    set(QPalette::LinkVisited, ThemeRole::Accent);
    // The shades Fusion draws frames and grooves with; derived, so that they fit in both themes.
    const QColor button = colour(ThemeRole::Hover);
    palette.setColor(QPalette::Light, m_dark ? button.lighter(130) : QColor(Qt::white));
    palette.setColor(QPalette::Midlight, m_dark ? button.lighter(115) : button.lighter(104));
    palette.setColor(QPalette::Mid, m_dark ? button.darker(130) : button.darker(125));
    palette.setColor(QPalette::Dark, m_dark ? button.darker(160) : button.darker(160));
    palette.setColor(QPalette::Shadow, m_dark ? QColor(Qt::black) : button.darker(250));
    // What cannot be used is fainter than all other text, but can be read.
    const QColor faint = faintest(colour(ThemeRole::MutedText),
        {colour(ThemeRole::Window), colour(ThemeRole::Surface), colour(ThemeRole::Hover)});
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, faint);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, colour(ThemeRole::Border));
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, legible(colour(ThemeRole::Border)));
    return palette;
}

} // namespace shardscope::ui
