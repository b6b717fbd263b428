"""Calendars other than the standard one."""
