"""sys.time_zone_info."""


def test_zones_have_the_offset_of_the_instances_time(rows):
    found = {
        name: (offset, dst)
        for name, offset, dst in rows(
            "SELECT name, current_utc_offset, is_currently_dst FROM sys.time_zone_info"
        )
    }
    assert found["UTC"] == ("+00:00", 0)
    assert found["India Standard Time"] == ("+05:30", 0)
    assert found["Central European Standard Time"] in {("+01:00", 0), ("+02:00", 1)}
    assert len(found) > 130
