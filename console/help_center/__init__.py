"""The help center: a site for visitors."""
