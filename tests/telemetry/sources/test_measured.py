"""Values of several sources together, and the records of them."""

from tinyssb_node.content.telemetry import PositionRecord, SensorRecord
from tinyssb_node.telemetry.sources.measured import Measured, merged, position_record, sensor_record


def test_a_place_is_whole_from_one_source_and_other_values_are_from_the_first() -> None:
    hook = Measured(battery_percent=50, altitude_m=9)
    receiver = Measured(latitude=1.0, longitude=2.0)
    fixed = Measured(latitude=3.0, longitude=4.0, speed_m_s=5, battery_percent=60, voltage_v=4.0)
    assert merged([hook, receiver, fixed]) == Measured(
        latitude=1.0, longitude=2.0, battery_percent=50, voltage_v=4.0
    )
    assert merged([]) == Measured()


def test_values_are_rounded_to_the_units_of_records() -> None:
    measured = Measured(
        latitude=47.376904,
        longitude=-8.541696,
        accuracy_m=11.6,
        altitude_m=-0.4,
        speed_m_s=1.46,
        course_degrees=359.7,
    )
    assert position_record(measured, 60, 5) == PositionRecord(
        said_s=60,
        valid_minutes=5,
        latitude=4_737_690,
        longitude=-854_170,
        radius_m=12,
        altitude_m=0,
        speed_dm_s=15,
        course_degrees=0,
    )
    values = Measured(
        battery_percent=86.6,
        voltage_v=3.9124,
        solar_w=0.5,
        temperature_c=-18.46,
        humidity_percent=44.5,
        pressure_hpa=967.24,
    )
    assert sensor_record(values, None, 0, "v") == SensorRecord(
        valid_minutes=0,
        battery_percent=87,
        voltage_mv=3_912,
        solar_mw=500,
        temperature_dc=-185,
        humidity_percent=44,
        pressure_dhpa=9_672,
        version="v",
    )


def test_nothing_measured_makes_no_record() -> None:
    assert position_record(Measured(battery_percent=5), 60, 5) is None
    assert sensor_record(Measured(latitude=1.0, longitude=1.0), 60, 5, "v") is None
    about = SensorRecord(said_s=60, valid_minutes=5, version="v", hardware="Pi")
    assert sensor_record(Measured(hardware="Pi"), 60, 5, "v") == about
