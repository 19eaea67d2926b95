#include "terroir/interval.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "terroir/dimension.hpp"

namespace terroir {
namespace {

constexpr Interval kAll;
constexpr Interval kNone(3, 1);

TEST(Interval, KnowsItsElements) {
  EXPECT_EQ(Interval(2, 5).size(), 4u);
  EXPECT_EQ(Interval(7).size(), 1u);
  EXPECT_EQ(kAll.size(), static_cast<Interval::size_type>(Interval::s_max));
  EXPECT_EQ(kNone.size(), 0u);
  EXPECT_TRUE(kNone.empty());
  EXPECT_FALSE(kAll.empty());
  EXPECT_FALSE(kAll.has_upper_bound());
  EXPECT_TRUE(Interval(2, 5).has_upper_bound());
  EXPECT_TRUE(Interval(2, 5).contains(5));
  EXPECT_FALSE(Interval(2, 5).contains(6));
  EXPECT_TRUE(kAll.contains(Interval(2, 5)));
  EXPECT_FALSE(Interval(2, 5).contains(Interval(5, 6)));
  EXPECT_NE(Interval(2, 5), Interval(2, 6));
}

TEST(Interval, SumsDifferencesProducts) {
  EXPECT_EQ(Interval(1, 3) + Interval(10, 20), Interval(11, 23));
  EXPECT_EQ(Interval(1, 3) + kAll, Interval(1, Interval::s_max));
  EXPECT_EQ(Interval(10, 20) - Interval(1, 3), Interval(7, 19));
  EXPECT_EQ(Interval(1, 3) - Interval(2, 9), Interval(0, 1)) << "never below 0";
  EXPECT_EQ(Interval(4, 9) - kAll, Interval(0, 9));
  EXPECT_EQ(kAll - Interval(4, 9), kAll);
  EXPECT_EQ(Interval(2, 3) * Interval(5, 7), Interval(10, 21));
  EXPECT_EQ(Interval(2, 3) * kAll, kAll);
  EXPECT_EQ(Interval(0) * kAll, Interval(0));
  const Interval huge(Interval::s_max / 2 + 1);
  EXPECT_FALSE((huge + huge).has_upper_bound());
  EXPECT_FALSE((huge * Interval(2)).has_upper_bound());
  EXPECT_EQ(Interval(1, 5) & Interval(3, 9), Interval(3, 5));
  EXPECT_TRUE((Interval(1, 2) & Interval(3, 9)).empty());
  for (const Interval& with_none : {kNone + kAll, kNone - kAll, kNone * kAll}) EXPECT_TRUE(with_none.empty());
  Interval changed(1, 2);
  changed += Interval(1);
  changed *= Interval(10);
  changed -= Interval(5);
  EXPECT_EQ(changed, Interval(15, 25));
  EXPECT_EQ(changed &= Interval(20, 99), Interval(20, 25));
}

TEST(Interval, IsThatOfADimension) {
  EXPECT_EQ(Dimension().get_interval(), kAll);
  EXPECT_EQ(Dimension(4).get_interval(), Interval(4));
  EXPECT_EQ(Dimension(2, 9).get_interval(), Interval(2, 9));
  EXPECT_FALSE(Dimension(2, -1).get_interval().has_upper_bound());
}

TEST(Interval, IsWritten) {
  std::ostringstream text;
  text << Interval(1, 10) << ' ' << kAll;
  EXPECT_EQ(text.str(), "Interval(1, 10) Interval(0, ...)");
}

}  // namespace
}  // namespace terroir
