// SPDX-License-Identifier: Apache-2.0
#include "ui/style/theme.h"

#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

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
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        QColor faint = colour(ThemeRole::MutedText);
        faint.setAlpha(140);
        palette.setColor(QPalette::Disabled, role, faint);
    }
    palette.setColor(QPalette::Disabled, QPalette::Highlight, colour(ThemeRole::Border));
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, colour(ThemeRole::MutedText));
    return palette;
}

} // namespace shardscope::ui
